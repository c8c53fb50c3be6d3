/**
 * The way of a frame through a connection: from the client to its members (`heardFromClient`, `sendToMember`) and back
 * (`heardFromMember`, `sendToClient`), and the channels on which it travels (`attach`, `lose`, `redial`). The router
 * decides everything about a message; this file moves bytes, opens and closes sockets, and reads the time.
 */

import { Effect, Schedule } from "effect"
import { daemonMessage } from "../../domain/protocol/daemon-message.ts"
import { hears } from "../../domain/protocol/message-filter.ts"
import { peekClient, peekDaemon } from "../../domain/protocol/peek.ts"
import type { MemberName } from "../../domain/relay/member.ts"
import { type RouterInput, type RouterOutput, step } from "../../domain/relay/router.ts"
import { excuse, heardNoPing } from "../../domain/sessions/client-pulse.ts"
import { addTo, type FrameChannel } from "../../ports/frame-channel.ts"
import { logWarning } from "../kernel/log.ts"
import { CurrentRepeatedLines } from "../kernel/repeated-lines.ts"
import {
  type ClientConnection,
  elapsed,
  finish,
  type DialFailure,
  isClientPaused,
  isReplaced,
  type RouterInputBody
} from "./client-connection.ts"
import { routeClient, routeMember, learnRoute } from "./fast-path.ts"

/** Queued bytes towards a peer above which its senders are paused, and below which they go on. */
const brakeAt = 4 * 1024 * 1024
const releaseAt = 1024 * 1024
/** Queued bytes towards a client above which the client is not read any more: what is answered here, it must take. */
const stopAt = 2 * brakeAt
/** How long a member other than the default may hold up the client before it is disconnected, in ms. */
const maxBrake = 10_000
/** Pause before a lost member is dialled again, in ms; it doubles up to `maxRedial`. */
const firstRedial = 1_000
const maxRedial = 15_000
/** Most refusals that the user gets while a member is dialled again and again: a member may vary its words. */
const maxRefusals = 3
/** How long one dial may take, in ms. */
const dialTimeout = 30_000

// From the client to its members

/** Handles a frame of the client: the filters hear it one after the other, then the router. */
const heardFromClient = (connection: ClientConnection, received: Uint8Array): void => {
  addTo(connection.counts.received.client, received.length)
  const { filters } = connection
  const row = peekClient(received)
  let bytes = received
  for (let at = 0; at < filters.length; at++) {
    const hearing = filters[at]?.fromClient
    if (hearing === undefined || !hears(hearing, row)) continue
    const decided = hearing.hear(bytes, row)
    switch (decided._tag) {
      case "Pass":
        break
      case "PassChanged":
        bytes = decided.bytes
        break
      case "Answered":
        for (const answer of decided.answers) sendToClient(connection, answer, at)
        if (decided.warning !== undefined) warnUser(connection, decided.warning)
        return
      case "TooMuch":
        return finish(connection, { _tag: "Dropped", reason: decided.reason })
    }
  }
  feed(connection, { _tag: "FromClient", bytes })
}

const warnUser = (connection: ClientConnection, message: string): void =>
  feed(connection, { _tag: "WarnUser", message })

/** Feeds an input to the router and performs its outputs. */
export const feed = (connection: ClientConnection, input: RouterInputBody): void => {
  if (connection.isFeeding) return void connection.waitingInputs.push(input)
  connection.isFeeding = true
  try {
    for (
      let current: RouterInputBody | undefined = input;
      current !== undefined && !connection.isOver;
      current = connection.waitingInputs.shift()
    ) {
      const now = connection.clock.currentTimeMillisUnsafe()
      const before = connection.state
      const decided = step(before, { ...current, now } as RouterInput)
      const [state, outputs] = decided
      connection.state = state
      learnRoute(connection, current, before, decided)
      for (const output of outputs) perform(connection, output)
    }
  } finally {
    connection.isFeeding = false
  }
}

const perform = (connection: ClientConnection, output: RouterOutput): void => {
  switch (output._tag) {
    case "ToClient":
      return sendToClient(connection, output.bytes)
    case "ToMember":
      return sendToMember(connection, output.member, output.bytes)
    case "DisconnectMember":
      return detach(connection, output.member)
    case "DropClient":
      return finish(connection, { _tag: "Dropped", reason: output.reason })
    case "EndSession":
      return finish(connection, { _tag: "SessionEnded", reason: output.reason })
    case "WakeAt":
      return wakeAt(connection, output.at)
    case "Warn":
      return warn(connection, output.message)
    case "Dropped":
      return void connection.counts.dropped[output.what]++
  }
}

const wakeAt = (connection: ClientConnection, at: number): void => {
  const pause = Math.max(0, at - connection.clock.currentTimeMillisUnsafe())
  connection.run(
    "tick",
    later(pause, () => feed(connection, { _tag: "Tick" }))
  )
}

const later = (pause: number, act: () => void): Effect.Effect<void> =>
  Effect.sleep(pause).pipe(Effect.andThen(Effect.sync(act)))

/** Writes a line to the operator's log; lines of a session beyond its allowance are summed. */
const warn = ({ options, run }: ClientConnection, message: string): void => {
  const { label } = options
  const line = logWarning(message, { connection: label })
  const sum = (count: number) => logWarning("more warnings about a connection", { connection: label, count })
  run(
    `warn ${message}`,
    Effect.flatMap(CurrentRepeatedLines, ({ tell }) => tell(`warn ${label}`, line, sum))
  )
}

/** Sends a frame to a member. */
const sendToMember = (connection: ClientConnection, member: MemberName, bytes: Uint8Array): void => {
  const channel = connection.channels.get(member)
  if (channel === undefined) return
  channel.send(bytes)
  brakeFor(connection, member, channel)
}

/** Brakes the client while a member's queue is full. Only the default may do so for long. */
const brakeFor = (connection: ClientConnection, member: MemberName, channel: FrameChannel): void => {
  const { fullMembers, options, run } = connection
  if (channel.queuedBytes() < brakeAt || fullMembers.has(member)) return
  fullMembers.add(member)
  options.client.pause()
  if (member === options.router.defaultMember) return
  const giveUp = (): void => {
    if (fullMembers.has(member)) lose(connection, member, channel, "it did not take what was sent to it")
  }
  run(`brake ${member}`, later(maxBrake, giveUp))
}

/** Resumes the client when the last full member takes messages again. */
const relieve = (connection: ClientConnection, member: MemberName): void => {
  if (connection.fullMembers.delete(member)) readOn(connection)
}

/** Reads the client again, unless there still is a reason not to. */
const readOn = (connection: ClientConnection): void => {
  if (isClientPaused(connection)) return
  connection.pulse = excuse(connection.pulse, elapsed(connection.clock))
  connection.options.client.resume()
}

// From the members to the client

const heardFromMember = (connection: ClientConnection, member: MemberName, bytes: Uint8Array): void => {
  connection.quietChecks.set(member, 0)
  addTo(connection.counts.received.member, bytes.length)
  feed(connection, { _tag: "FromMember", member, bytes })
}

/**
 * Sends a frame to the client; the filters before `from` hear it, from the inmost outwards. So a lock's own refusal
 * releases no port: the refused subscription has claimed none, and the port stays with an earlier one.
 */
const sendToClient = (connection: ClientConnection, made: Uint8Array, from = connection.filters.length): void => {
  const { filters, options } = connection
  const row = peekDaemon(made)
  /** The answers that go behind the frame, each with the place of the filter that has made it. */
  const behind: Array<readonly [Uint8Array, number]> = []
  let bytes = made
  for (let at = from - 1; at >= 0; at--) {
    const hearing = filters[at]?.toClient
    if (hearing === undefined || !hears(hearing, row)) continue
    const decided = hearing.hear(bytes, row)
    switch (decided._tag) {
      case "Pass":
        break
      case "PassChanged":
        bytes = decided.bytes
        for (const message of decided.warnings) warnUser(connection, message)
        break
      case "PassBefore":
        for (const answer of decided.answers) behind.push([answer, at])
        break
      case "EndSession":
        return endSession(connection, decided.reason, at)
    }
  }
  options.client.send(bytes)
  brakeForClient(connection)
  for (const [answer, at] of behind) sendToClient(connection, answer, at)
}

/** Ends the session for good. The client hears why, through the filters before `from`. */
export const endSession = (connection: ClientConnection, reason: string, from?: number): void => {
  sendToClient(connection, daemonMessage.encode({ _tag: "Close", value: reason }), from)
  finish(connection, { _tag: "SessionEnded", reason })
}

/**
 * Brakes all members while the client's queue is full. The client goes on being read, because a client that must write
 * before it reads would wait for ever; but it is not answered without bound.
 */
const brakeForClient = (connection: ClientConnection): void => {
  const { channels, isClientFull, isClientStopped, options } = connection
  const { client } = options
  const queued = client.queuedBytes()
  if (queued < brakeAt) return
  if (!isClientFull) {
    connection.isClientFull = true
    for (const channel of channels.values()) channel.pause()
  }
  if (isClientStopped || queued < stopAt) return
  connection.isClientStopped = true
  client.pause()
}

/** The client has taken what was queued for it. */
const clientDrained = (connection: ClientConnection): void => {
  const { channels, isClientFull, isClientStopped, options } = connection
  if (!isClientFull || options.client.queuedBytes() >= releaseAt) return
  connection.isClientFull = false
  for (const channel of channels.values()) channel.resume()
  connection.isClientStopped = false
  if (isClientStopped) readOn(connection)
}

/** Warns of the first message that is ignored; a client may send any number of these. */
const ignoredOnce = (connection: ClientConnection): ((what: string) => void) => {
  let isTold = false
  return (what) => {
    if (!isTold)
      warn(connection, `the client sent a ${what}, which is ignored like all others: only binary messages count`)
    isTold = true
  }
}

/** Starts to read the client. */
export const openClient = (connection: ClientConnection): void => {
  const { client } = connection.options
  const alive = (): void => {
    connection.pulse = heardNoPing(connection.pulse, elapsed(connection.clock))
  }
  client.open({
    ...routeClient(connection, () => {
      alive()
      for (const [member, channel] of connection.channels) brakeFor(connection, member, channel)
    }),
    message: (bytes) => heardFromClient(connection, bytes),
    timeRead: connection.timeReads.client,
    part: alive,
    ended: (reason) => finish(connection, { _tag: "ClientGone", reason }),
    drained: () => clientDrained(connection),
    ignored: ignoredOnce(connection)
  })
}

// The members' channels

/** Puts the channel of a connected member to use. */
export const attach = (connection: ClientConnection, member: MemberName, channel: FrameChannel): void => {
  if (connection.isOver) return channel.close()
  connection.counts.links[connection.options.router.memberKind].opened++
  connection.channels.set(member, channel)
  const alive = (): void => void connection.quietChecks.set(member, 0)
  alive()
  feed(connection, { _tag: "MemberConnected", member })
  channel.open({
    ...routeMember(connection, member, () => {
      alive()
      brakeForClient(connection)
    }),
    message: (bytes) => heardFromMember(connection, member, bytes),
    timeRead: connection.timeReads.member,
    part: alive,
    ended: (reason) =>
      lose(connection, member, channel, connection.options.members?.whyEnded?.(member, reason) ?? reason),
    drained: () => {
      if (channel.queuedBytes() < releaseAt) relieve(connection, member)
    },
    ignored: () => lose(connection, member, channel, "it sent something that is no binary message")
  })
  if (connection.isClientFull) channel.pause()
}

/** Gives up the channel of a member. A channel that was replaced or closed before is ignored. */
export const lose = (connection: ClientConnection, member: MemberName, channel: FrameChannel, reason: string): void => {
  if (connection.channels.get(member) !== channel) return
  connection.counts.links[connection.options.router.memberKind].lost++
  detach(connection, member)
  feed(connection, { _tag: "MemberLost", member, reason })
}

/** Closes a member's channel and dials the member again. The router knows the end already, or learns it next. */
export const detach = (connection: ClientConnection, member: MemberName): void => {
  const { channels, options, routes } = connection
  channels.get(member)?.close()
  channels.delete(member)
  routes.members.delete(member)
  relieve(connection, member)
  if (member !== options.router.defaultMember) redial(connection, member)
}

/** Pauses between dials; the first dial came after a pause of `after` ms. */
const redialPauses = (after: number): Schedule.Schedule<unknown> =>
  Schedule.min([Schedule.exponential(Math.max(firstRedial, after * 2)), Schedule.spaced(maxRedial)])

/**
 * Dials a member until it is connected. Replaces a dial of the member that is under way. The user gets each reason for
 * which the member takes no part only once.
 */
export const redial = (connection: ClientConnection, member: MemberName, after = firstRedial): void => {
  if (connection.isOver) return
  // At its start the connection has warned of what it knew then.
  const told = new Set(connection.options.warnings)
  const most = told.size + maxRefusals
  const tell = ({ refusal }: DialFailure): void => {
    if (refusal === undefined || told.has(refusal) || told.size >= most) return
    told.add(refusal)
    feed(connection, { _tag: "WarnUser", message: refusal })
  }
  const tried = Effect.tapError(dial(connection, member), (failure) => Effect.sync(() => tell(failure)))
  const untilConnected = Effect.retry(tried, redialPauses(after))
  connection.run(`dial ${member}`, Effect.ignore(Effect.andThen(Effect.sleep(after), untilConnected)))
}

/** Dials a member once. A client that lives on in a younger connection gets no link. */
const dial = Effect.fnUntraced(function* (
  connection: ClientConnection,
  member: MemberName
): Effect.fn.Return<void, DialFailure> {
  if (isReplaced(connection)) return yield* Effect.fail(replaced)
  const channel = yield* Effect.timeoutOrElse(connection.options.connect(member), {
    duration: dialTimeout,
    orElse: () => Effect.fail({ message: `no connection within ${dialTimeout} ms` })
  })
  if (!isReplaced(connection)) return attach(connection, member, channel)
  channel.close()
  return yield* Effect.fail(replaced)
})

const replaced = { message: "the client has come again" }
