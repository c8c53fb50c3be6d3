/**
 * One served client: its options (`ClientConnectionOptions`), its state while it lives (`ClientConnection`) and the
 * ways in which it ends. Frames pass through `message-path.ts`.
 */

import { Clock, Deferred, Effect, FiberMap, Random, type Scope } from "effect"
import type { EnvironmentAnswers } from "../../domain/branches/environment-answers.ts"
import type { SessionPolicies } from "../../domain/policies/session-policies.ts"
import type { MessageFilter } from "../../domain/protocol/message-filter.ts"
import { LearntRoutes } from "../../domain/relay/learnt-routes.ts"
import type { MemberName } from "../../domain/relay/member.ts"
import { type ConnectionName, connectionName, releaseConnection } from "../../domain/relay/port-locks.ts"
import { makeRouter, type RouterInput, type RouterOptions, type RouterState } from "../../domain/relay/router.ts"
import { mayBeReplaced, newPulse, type Pulse } from "../../domain/sessions/client-pulse.ts"
import type { FrameChannel, FrameRoute } from "../../ports/frame-channel.ts"
import { CurrentRelayCounts, type RelayCounts } from "../kernel/relay-counts.ts"
import { timeReads } from "./added-latency.ts"
import type { SessionLocks } from "./session-locks.ts"

/** How long a merged answer waits for members other than the default, in ms (wire.md §10.3). */
const mergeBound = 2_000

/** How a client's connection ended. */
export type ConnectionEnd =
  /** The client's socket is gone. */
  | { readonly _tag: "ClientGone"; readonly reason: string }
  /** The client's socket is to be closed without a protocol `Close`: the client reconnects. */
  | { readonly _tag: "Dropped"; readonly reason: string }
  /** The end is final, and the client was told so. */
  | { readonly _tag: "SessionEnded"; readonly reason: string }

/** Members as they come and go while a connection lives. */
export interface MemberNews {
  readonly now: () => ReadonlyArray<MemberName>
  /** Whether a dial may succeed now: a lost member that becomes ready is dialled at once. */
  readonly isReady: (member: MemberName) => boolean
  /** Why a channel to a member that is still open leads nowhere any more; `undefined` while it may be used. */
  readonly lost?: (channel: FrameChannel) => string | undefined
  /** Why the other side has closed a member's channel, for the user; `reason`: the transport's words. */
  readonly whyEnded?: (member: MemberName, reason: string) => string
  /** Calls back after each change, until the returned function is called. */
  readonly listen: (changed: () => void) => () => void
}

/** The limits that a connection is held to. */
interface ConnectionLimits {
  readonly policies: SessionPolicies
  /** Completes when other limits hold. The client's socket is closed then, and it connects again. */
  readonly outdated: Effect.Effect<{ readonly reason: string }>
}

/** Why a member is not connected. `refusal`: a sentence for the user, if the member would answer the same again. */
export interface DialFailure {
  readonly message: string
  readonly refusal?: string | undefined
}

/** A connection as those see it who have it served. */
export interface ServedConnection {
  /** The client's subscriptions to ports, a message each. */
  readonly subscriptions: () => ReadonlyArray<Uint8Array>
  /** Adds a message to the client's log. */
  readonly warn: (message: string) => void
}

export interface ClientConnectionOptions {
  readonly router: Omit<RouterOptions, "mergeBound">
  readonly client: FrameChannel
  /** Channels that are open already, the default's among them. */
  readonly connected: ReadonlyMap<MemberName, FrameChannel>
  /**
   * Dials a member, also again after a loss. Fails when the member cannot be reached now; the dial is repeated later.
   */
  readonly connect: (member: MemberName) => Effect.Effect<FrameChannel, DialFailure>
  readonly members?: MemberNews
  /** Messages for the client's log, sent as soon as its phase allows. */
  readonly warnings?: ReadonlyArray<string>
  /** Without limits nothing that the client asks for is forbidden here. */
  readonly limits?: ConnectionLimits | undefined
  /** Changes the answers to requests for variables, where the session uses branches or splits queues. */
  readonly environment?: EnvironmentAnswers | undefined
  /** The session's ports, shared by its connections (wire.md §8.22). */
  readonly locks: SessionLocks
  /** Takes the connection when it begins to be served. */
  readonly served?: (connection: ServedConnection) => void
  /**
   * Whether the client has connected again since. A silent connection whose client has reconnected is dead. It must not
   * redial members: its newer link would steal the ports of the live connection.
   */
  readonly hasYounger?: () => boolean
  /**
   * Whether the client is the user's own, whose silence means something (`client-pulse.ts`), and not the operator of a
   * primary.
   */
  readonly isUser: boolean
  /**
   * Completes with a reason when the session is ended from elsewhere. A user's client is told so, for good. A primary
   * learns only that the link is gone, because a child that a person deleted is created again.
   */
  readonly terminated: Effect.Effect<{ readonly reason: string }>
  /** Those who watch what the session steals, where its user's connection ends. */
  readonly watched?: MessageFilter | undefined
  /** Hears the first bytes to the client, of whatever message. */
  readonly firstByte?: MessageFilter | undefined
  /** The connection's name in log lines, such as its session. */
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
  /** Completes when the connection is over. */
  readonly done: Deferred.Deferred<ConnectionEnd>
  /** Runs a task until the connection is over. Replaces a running task of the same name. */
  readonly run: (task: string, effect: Effect.Effect<void>) => void
  /** Where this connection is counted among all others. */
  readonly counts: RelayCounts
  /** The timing of reads of the client and of members. */
  readonly timeReads: Effect.Success<typeof timeReads>
  /** The layers between the client and the router, the client's side first. */
  filters: ReadonlyArray<MessageFilter>
  /** The router's state: everything that is decided about messages. */
  state: RouterState
  /** Whether the connection has ended: nothing is sent, received or dialled any more. */
  isOver: boolean
  /** Channels to the members that are connected. */
  readonly channels: Map<MemberName, FrameChannel>
  /** Checks since each member was last heard. A member that leaves the router's own pings unanswered is lost. */
  readonly quietChecks: Map<MemberName, number>
  /** Members whose queue is full. The client is paused as long as there are any. */
  readonly fullMembers: Set<MemberName>
  /** Whether the client's queue is full: the members are paused. */
  isClientFull: boolean
  /** Whether the client takes not even the answers that are made here: it is paused itself. */
  isClientStopped: boolean
  /** The client's pulse, from which its silence is judged. */
  pulse: Pulse
  /** The ways of bulk messages, by sender. */
  readonly routes: {
    readonly client: LearntRoutes<FrameRoute>
    readonly members: Map<MemberName, LearntRoutes<FrameRoute>>
  }
  /** Whether an input is being fed to the router. */
  isFeeding: boolean
  /** Inputs that came while outputs were being performed, which they must not overtake. */
  readonly waitingInputs: Array<RouterInputBody>
}

/** A connection that has no channels yet. Its tasks end with the scope. */
export const makeClientConnection = Effect.fnUntraced(function* (
  options: ClientConnectionOptions,
  filtersOf: (connection: ClientConnection) => ReadonlyArray<MessageFilter>
): Effect.fn.Return<ClientConnection, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  const done = yield* Deferred.make<ConnectionEnd>()
  const tasks = yield* FiberMap.make<string>()
  const run = yield* FiberMap.runtime(tasks)<never>()
  const connection: ClientConnection = {
    options,
    clock,
    self: connectionName(`${options.label} ${yield* Random.nextInt}`),
    done,
    run: (task, effect) => void run(task, effect),
    counts: yield* CurrentRelayCounts,
    timeReads: yield* timeReads,
    filters: [],
    state: makeRouter({ ...options.router, mergeBound }),
    isOver: false,
    channels: new Map(),
    quietChecks: new Map(),
    fullMembers: new Set(),
    isClientFull: false,
    isClientStopped: false,
    pulse: newPulse(elapsed(clock)),
    routes: { client: new LearntRoutes("client"), members: new Map() },
    isFeeding: false,
    waitingInputs: []
  }
  connection.filters = filtersOf(connection)
  return connection
})

/** Monotonic time in ms, which a changed clock does not move. */
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

/** Whether the client is not read: a member does not take what the client sends, or the client takes no answers. */
export const isClientPaused = ({ fullMembers, isClientStopped }: ClientConnection): boolean =>
  fullMembers.size > 0 || isClientStopped

/** Whether the client is not read, by this connection's will or for want of memory: then its silence means nothing. */
export const isClientUnread = (connection: ClientConnection): boolean =>
  isClientPaused(connection) || connection.options.client.waitsForRoom?.() === true

/** Whether another connection of the session may take the ports: the client is read, and nothing comes. */
export const isSilent = (connection: ClientConnection): boolean =>
  !isClientUnread(connection) && mayBeReplaced(connection.pulse, elapsed(connection.clock))

/** Whether the client most likely lives on in a younger connection. */
export const isReplaced = (connection: ClientConnection): boolean =>
  connection.options.hasYounger?.() === true && isSilent(connection)
