import { Clock, Deferred, Effect, FiberMap, Metric, Random, type Scope } from "effect"
import { daemonMessage } from "../../domain/protocol/daemon-message.ts"
import { openIds } from "../../domain/routing/ids.ts"
import type { MemberName } from "../../domain/routing/member.ts"
import {
  type ConnectionName,
  connectionName,
  lockFromClient,
  lockToClient,
  releaseConnection
} from "../../domain/routing/port-locks.ts"
import {
  makeRouter,
  type RouterInput,
  type RouterOptions,
  type RouterOutput,
  step
} from "../../domain/routing/router.ts"
import { excuse, heard, isGone, isOverdue, mayBeReplaced, newPulse } from "../../domain/session/client-pulse.ts"
import type { FrameChannel } from "../../ports/frame-channel.ts"
import { held } from "../kernel/holdings.ts"
import { logWarning } from "../kernel/log.ts"
import type { SessionLocks } from "./session-locks.ts"

/** Queued bytes towards a peer above which its senders are paused, and below which they go on. */
const brakeAt = 4 * 1024 * 1024
const releaseAt = 1024 * 1024
/** How long a member other than the default may hold up everybody else before it is disconnected, in ms. */
const longestBrake = 10_000
/** Pause before a lost member is dialled again, in ms; doubles up to the second. */
const firstRedial = 1_000
const longestRedial = 15_000
/** How long one dialling may take, in ms. */
const dialTimeout = 30_000
/** A merged answer waits this long for members other than the default, in ms (wire.md §10.3). */
const mergeBound = 2_000

/** How often a client's silence is looked at, in ms. */
const pulseCheck = 15_000

/** Rounds of the router's own pings without a word from a member after which it counts as lost. */
const missedPings = 3

export const droppedMessages = Metric.counter("braid_dropped_messages_total", {
  description: "Protocol messages that were dropped instead of being forwarded, by reason.",
  incremental: true
})

/** How a client's connection ended. */
export type ConnectionEnd =
  /** The client's socket is gone. */
  | { readonly _tag: "ClientGone"; readonly reason: string }
  /** Its socket is to be closed without a protocol `Close`: it reconnects. */
  | { readonly _tag: "Dropped"; readonly reason: string }
  /** Final, the client was told so. */
  | { readonly _tag: "SessionEnded"; readonly reason: string }

export interface ClientConnectionOptions {
  readonly router: Omit<RouterOptions, "mergeBound">
  readonly client: FrameChannel
  /** Channels that are open already; the default's is. */
  readonly connected: ReadonlyMap<MemberName, FrameChannel>
  /** Dials a member (again). Fails when it cannot be reached now; it is tried again later. */
  readonly connect: (member: MemberName) => Effect.Effect<FrameChannel, { readonly message: string }>
  /** Members as they come and go while the connection lives. */
  readonly members?: {
    readonly now: () => ReadonlyArray<MemberName>
    /** Whether dialling it may succeed now: a lost member that becomes ready is dialled at once. */
    readonly isReady: (member: MemberName) => boolean
    /** Calls back after each change, until the returned function is called. */
    readonly listen: (changed: () => void) => () => void
  }
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

/**
 * The shell around the router: one client, its members, plain callbacks between them. Everything that is decided is
 * decided in `domain/routing`; here bytes are moved, sockets are opened and closed, and time is read.
 */
export const serveClient = (options: ClientConnectionOptions): Effect.Effect<ConnectionEnd, never, Scope.Scope> =>
  Effect.gen(function* () {
    const { client, label, router } = options
    const clock = yield* Clock.Clock
    const done = yield* Deferred.make<ConnectionEnd>()
    const tasks = yield* FiberMap.make<string>()
    const run = yield* FiberMap.runtime(tasks)<never>()
    const channels = new Map<MemberName, FrameChannel>()
    const self = connectionName(`${label} ${yield* Random.nextInt}`)
    let state = makeRouter({ ...router, mergeBound })
    yield* held("served connections", () => 1)
    yield* held("mapped ids", () => openIds(state.ids))
    let over = false
    /** When each member said something last: one that leaves the router's own pings unanswered is lost. */
    const heardAt = new Map<MemberName, number>()
    /** Members whose queue is full: the client is paused as long as there is one. */
    const full = new Set<MemberName>()
    let clientFull = false
    /** ms that neither a changed clock nor daylight saving can move. */
    const elapsed = (): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
    let pulse = newPulse(elapsed())

    const finish = (end: ConnectionEnd): void => {
      if (over) return
      over = true
      options.locks.current = releaseConnection(options.locks.current, self)
      options.locks.holders.delete(self)
      for (const channel of channels.values()) channel.close()
      channels.clear()
      client.close()
      Deferred.doneUnsafe(done, Effect.succeed(end))
    }

    let feeding = false
    /** What came while outputs were still being performed: it must not overtake them. */
    const waiting: Array<RouterInputBody> = []

    const feed = (input: RouterInputBody): void => {
      if (feeding) return void waiting.push(input)
      feeding = true
      try {
        for (
          let current: RouterInputBody | undefined = input;
          current !== undefined && !over;
          current = waiting.shift()
        ) {
          const [next, outputs] = step(state, { ...current, now: clock.currentTimeMillisUnsafe() } as RouterInput)
          state = next
          for (const output of outputs) perform(output)
        }
      } finally {
        feeding = false
      }
    }

    /** A member takes messages again. */
    const relieved = (member: MemberName): void => {
      if (!full.delete(member) || full.size > 0) return
      pulse = excuse(pulse, elapsed())
      client.resume()
    }

    const detach = (member: MemberName): void => {
      channels.get(member)?.close()
      channels.delete(member)
      relieved(member)
      if (member !== router.defaultMember) redial(member)
    }

    const lose = (member: MemberName, channel: FrameChannel, reason: string): void => {
      if (channels.get(member) !== channel) return
      detach(member)
      feed({ _tag: "MemberLost", member, reason })
    }

    const sendTo = (member: MemberName, bytes: Uint8Array): void => {
      const channel = channels.get(member)
      if (channel === undefined) return
      channel.send(bytes)
      if (channel.queuedBytes() < brakeAt || full.has(member)) return
      full.add(member)
      client.pause()
      if (member === router.defaultMember) return
      run(
        `brake ${member}`,
        Effect.sleep(longestBrake).pipe(
          Effect.andThen(
            Effect.sync(() => {
              if (full.has(member)) lose(member, channel, "it did not take what was sent to it")
            })
          )
        )
      )
    }

    const { holders } = options.locks
    const isSilent = (holder: ConnectionName): boolean => holders.get(holder)?.mayBeReplaced() ?? true

    const fromClient = (bytes: Uint8Array): void => {
      pulse = heard(pulse, bytes, elapsed())
      const { answer, locks, replaced } = lockFromClient(options.locks.current, self, bytes, isSilent)
      options.locks.current = locks
      for (const holder of replaced ?? []) holders.get(holder)?.replaced()
      if (answer === undefined) feed({ _tag: "FromClient", bytes })
      else sendToClient(answer)
    }

    const sendToClient = (bytes: Uint8Array): void => {
      options.locks.current = lockToClient(options.locks.current, self, bytes)
      client.send(bytes)
      if (clientFull || client.queuedBytes() < brakeAt) return
      clientFull = true
      for (const channel of channels.values()) channel.pause()
    }

    const perform = (output: RouterOutput): void => {
      switch (output._tag) {
        case "ToClient":
          return sendToClient(output.bytes)
        case "ToMember":
          return sendTo(output.member, output.bytes)
        case "DisconnectMember":
          return detach(output.member)
        case "DropClient":
          return finish({ _tag: "Dropped", reason: output.reason })
        case "EndSession":
          return finish({ _tag: "SessionEnded", reason: output.reason })
        case "WakeAt":
          run(
            "tick",
            Effect.sleep(Math.max(0, output.at - clock.currentTimeMillisUnsafe())).pipe(
              Effect.andThen(Effect.sync(() => feed({ _tag: "Tick" })))
            )
          )
          return
        case "Warn":
          run(`warn ${output.message}`, logWarning(output.message, { connection: label }))
          return
        case "Dropped":
          return Effect.runSync(Metric.update(Metric.withAttributes(droppedMessages, { what: output.what }), 1))
      }
    }

    const attach = (member: MemberName, channel: FrameChannel): void => {
      if (over) return channel.close()
      channels.set(member, channel)
      heardAt.set(member, clock.currentTimeMillisUnsafe())
      feed({ _tag: "MemberConnected", member })
      channel.open({
        message: (bytes) => {
          heardAt.set(member, clock.currentTimeMillisUnsafe())
          feed({ _tag: "FromMember", member, bytes })
        },
        ended: (reason) => lose(member, channel, reason),
        drained: () => {
          if (channel.queuedBytes() < releaseAt) relieved(member)
        },
        ignored: () => lose(member, channel, "it sent something that is no binary message")
      })
      if (clientFull) channel.pause()
    }

    const maySilentlyBeGone = (): boolean => full.size === 0 && mayBeReplaced(pulse, elapsed())
    const isReplaced = (): boolean => options.hasYounger?.() === true && maySilentlyBeGone()

    const late = () => Effect.fail({ message: `no connection within ${dialTimeout} ms` })

    const redial = (member: MemberName, after = firstRedial): void => {
      if (over) return
      let pause = after
      run(
        `dial ${member}`,
        Effect.gen(function* () {
          for (;;) {
            yield* Effect.sleep(pause)
            pause = Math.min(longestRedial, Math.max(firstRedial, pause * 2))
            if (isReplaced()) continue
            const channel = yield* options
              .connect(member)
              .pipe(Effect.timeoutOrElse({ duration: dialTimeout, orElse: late }), Effect.option)
            if (channel._tag === "None") continue
            if (!isReplaced()) return attach(member, channel.value)
            channel.value.close()
          }
        })
      )
    }

    if (options.isUser) {
      let checkedAt = elapsed()
      const check = (): void => {
        const now = elapsed()
        // Who was not read, or came while this process stood still, was not silent.
        if (full.size > 0 || now - checkedAt > 2 * pulseCheck) pulse = excuse(pulse, now)
        checkedAt = now
        // Agents would go on giving it requests, which nobody answers.
        if (options.hasYounger?.() === true && isOverdue(pulse, now))
          finish({ _tag: "ClientGone", reason: "it fell silent, and its client has come again" })
        if (isGone(pulse, now))
          finish({
            _tag: "ClientGone",
            reason: `it has said nothing for ${Math.round((now - pulse.heardAt) / 1_000)} s, not even its Pings`
          })
      }
      for (const { check: checkOther } of [...holders.values()]) checkOther()
      holders.set(self, {
        mayBeReplaced: maySilentlyBeGone,
        replaced: () =>
          finish({
            _tag: "ClientGone",
            reason: "it fell silent, and a newer connection of its session took its ports"
          }),
        check
      })
      run("pulse", Effect.forever(Effect.andThen(Effect.sleep(pulseCheck), () => Effect.sync(check))))
    }
    // The default first, so that what the client says at once has somewhere to go.
    const first = options.connected.get(router.defaultMember)
    if (first !== undefined) attach(router.defaultMember, first)
    for (const [member, channel] of options.connected) if (member !== router.defaultMember) attach(member, channel)
    for (const member of router.members) {
      if (!options.connected.has(member) && member !== router.defaultMember) redial(member, 0)
    }
    client.open({
      message: fromClient,
      ended: (reason) => finish({ _tag: "ClientGone", reason }),
      drained: () => {
        if (!clientFull || client.queuedBytes() >= releaseAt) return
        clientFull = false
        for (const channel of channels.values()) channel.resume()
      },
      ignored: (what) =>
        perform({ _tag: "Warn", message: `the client sent a ${what}, which was ignored: only binary messages count` })
    })
    const { members } = options
    if (members !== undefined) {
      let known: ReadonlySet<MemberName> = new Set(router.members)
      const awaited = new Set<MemberName>()
      const follow = (): void => {
        const current = new Set(members.now())
        // Without the default there is nothing to go on with: it ends by itself, or the session is being prepared anew.
        if (over || !current.has(router.defaultMember)) return
        const left = [...known].filter((member) => !current.has(member))
        const ready = [...current].filter((member) => {
          if (members.isReady(member)) return awaited.delete(member) || !known.has(member)
          awaited.add(member)
          return false
        })
        known = current
        for (const member of left) {
          detach(member)
          run(`dial ${member}`, Effect.void)
          feed({ _tag: "MemberLeft", member, reason: "its pod is gone" })
        }
        for (const member of ready) if (!channels.has(member) && member !== router.defaultMember) redial(member, 0)
      }
      yield* Effect.acquireRelease(
        Effect.sync(() => members.listen(follow)),
        (stop) => Effect.sync(stop)
      )
      follow()
    }
    const { pingMembersEvery } = router
    if (pingMembersEvery !== undefined) {
      const check = (): void => {
        const oldest = clock.currentTimeMillisUnsafe() - missedPings * pingMembersEvery
        for (const [member, channel] of channels)
          if ((heardAt.get(member) ?? 0) < oldest) lose(member, channel, "it does not answer any more")
      }
      run("silence", Effect.forever(Effect.andThen(Effect.sleep(pingMembersEvery), () => Effect.sync(check))))
    }
    for (const message of options.warnings ?? []) feed({ _tag: "WarnUser", message })
    run(
      "terminated",
      Effect.map(options.terminated, ({ reason }) => {
        if (!options.isUser) return finish({ _tag: "Dropped", reason })
        client.send(daemonMessage.encode({ _tag: "Close", value: reason }))
        finish({ _tag: "SessionEnded", reason })
      })
    )
    yield* Effect.addFinalizer(() => Effect.sync(() => finish({ _tag: "Dropped", reason: "the operator stops" })))
    return yield* Deferred.await(done)
  })

/** A router input without its time, which is added when it is fed. */
type RouterInputBody = RouterInput extends infer I
  ? I extends { readonly now: number }
    ? Omit<I, "now">
    : never
  : never
