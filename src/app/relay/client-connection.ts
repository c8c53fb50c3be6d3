/**
 * One served client: what it is given (`ClientConnectionOptions`), what is known of it while it lives
 * (`ClientConnection`) and how it ends. How frames pass through it is `message-path.ts`'s business.
 */
import { Clock, Deferred, Effect, FiberMap, Random, type Scope } from "effect"
import type { MemberName } from "../../domain/routing/member.ts"
import { type ConnectionName, connectionName, releaseConnection } from "../../domain/routing/port-locks.ts"
import { makeRouter, type RouterInput, type RouterOptions, type RouterState } from "../../domain/routing/router.ts"
import { mayBeReplaced, newPulse, type Pulse } from "../../domain/session/client-pulse.ts"
import type { FrameChannel } from "../../ports/frame-channel.ts"
import type { SessionLocks } from "./session-locks.ts"

/** A merged answer waits this long for members other than the default, in ms (wire.md §10.3). */
const mergeBound = 2_000

/** How a client's connection ended. */
export type ConnectionEnd =
  /** The client's socket is gone. */
  | { readonly _tag: "ClientGone"; readonly reason: string }
  /** Its socket is to be closed without a protocol `Close`: it reconnects. */
  | { readonly _tag: "Dropped"; readonly reason: string }
  /** Final, the client was told so. */
  | { readonly _tag: "SessionEnded"; readonly reason: string }

/** Members as they come and go while a connection lives. */
export interface MemberNews {
  readonly now: () => ReadonlyArray<MemberName>
  /** Whether dialling it may succeed now: a lost member that becomes ready is dialled at once. */
  readonly isReady: (member: MemberName) => boolean
  /** Calls back after each change, until the returned function is called. */
  readonly listen: (changed: () => void) => () => void
}

export interface ClientConnectionOptions {
  readonly router: Omit<RouterOptions, "mergeBound">
  readonly client: FrameChannel
  /** Channels that are open already; the default's is. */
  readonly connected: ReadonlyMap<MemberName, FrameChannel>
  /** Dials a member (again). Fails when it cannot be reached now; it is tried again later. */
  readonly connect: (member: MemberName) => Effect.Effect<FrameChannel, { readonly message: string }>
  readonly members?: MemberNews
  /** Told to the client's log as soon as its phase allows. */
  readonly warnings?: ReadonlyArray<string>
  /** The session's ports, shared by its connections (wire.md §8.22). */
  readonly locks: SessionLocks
  /**
   * Whether the client has come again on another connection. If this one is silent then, it is dead: it makes no link
   * any more, which would be later than the living one's and take that one's ports at the member.
   */
  readonly hasYounger?: () => boolean
  /**
   * Whether the client is the user's own, whose silence tells something, and not the operator of a primary
   * (`client-pulse.ts`).
   */
  readonly isUser: boolean
  /**
   * Completes with a reason when the session is ended from elsewhere. A user's client is told so, for good; a primary
   * learns only that the link is gone, for a child that somebody deleted is made anew.
   */
  readonly terminated: Effect.Effect<{ readonly reason: string }>
  /** Annotations of every log line, such as the session. */
  readonly label: string
}

/** A router input without its time, which is added when it is fed. */
export type RouterInputBody = RouterInput extends infer I
  ? I extends { readonly now: number }
    ? Omit<I, "now">
    : never
  : never

export interface ClientConnection {
  readonly options: ClientConnectionOptions
  readonly clock: Clock.Clock
  /** Its name among the connections of its session. */
  readonly self: ConnectionName
  /** Completes when it is over. */
  readonly done: Deferred.Deferred<ConnectionEnd>
  /** Runs a task until the connection is over, in place of the one of the same name. */
  readonly run: (task: string, effect: Effect.Effect<void>) => void
  /** The router: everything that is decided about messages. */
  state: RouterState
  /** Whether it has ended: nothing is sent, received or dialled any more. */
  isOver: boolean
  /** Channels to the members that are connected. */
  readonly channels: Map<MemberName, FrameChannel>
  /** When each member said something last, epoch ms: one that leaves the router's own pings unanswered is lost. */
  readonly heardAt: Map<MemberName, number>
  /** Members whose queue is full: the client is paused as long as there is one. */
  readonly fullMembers: Set<MemberName>
  /** Whether the client's queue is full: the members are paused. */
  isClientFull: boolean
  /** What the client's silence tells. */
  pulse: Pulse
  /** Whether an input is being fed to the router. */
  isFeeding: boolean
  /** Inputs that came while outputs were still being performed: they must not overtake those. */
  readonly waitingInputs: Array<RouterInputBody>
}

/** A connection that has no channels yet. Its tasks end with the scope. */
export const makeClientConnection = (
  options: ClientConnectionOptions
): Effect.Effect<ClientConnection, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const done = yield* Deferred.make<ConnectionEnd>()
    const tasks = yield* FiberMap.make<string>()
    const run = yield* FiberMap.runtime(tasks)<never>()
    return {
      options,
      clock,
      self: connectionName(`${options.label} ${yield* Random.nextInt}`),
      done,
      run: (task, effect) => void run(task, effect),
      state: makeRouter({ ...options.router, mergeBound }),
      isOver: false,
      channels: new Map(),
      heardAt: new Map(),
      fullMembers: new Set(),
      isClientFull: false,
      pulse: newPulse(elapsed(clock)),
      isFeeding: false,
      waitingInputs: []
    }
  })

/** Ms that neither a changed clock nor daylight saving can move. */
export const elapsed = (clock: Clock.Clock): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

/** Ends the connection; the first end counts. */
export const finish = (connection: ClientConnection, end: ConnectionEnd): void => {
  if (connection.isOver) return
  connection.isOver = true
  const { channels, done, options, self } = connection
  options.locks.current = releaseConnection(options.locks.current, self)
  options.locks.holders.delete(self)
  for (const channel of channels.values()) channel.close()
  channels.clear()
  options.client.close()
  Deferred.doneUnsafe(done, Effect.succeed(end))
}

/** Whether another connection of the session may take the ports: the client is read, and nothing comes. */
export const isSilent = ({ clock, fullMembers, pulse }: ClientConnection): boolean =>
  fullMembers.size === 0 && mayBeReplaced(pulse, elapsed(clock))

/** Whether the client most likely lives on in a younger connection. */
export const isReplaced = (connection: ClientConnection): boolean =>
  connection.options.hasYounger?.() === true && isSilent(connection)
