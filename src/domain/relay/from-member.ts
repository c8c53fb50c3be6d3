/**
 * Handles a message of a member: finds its row, reads as much of the message as the row needs, and carries the row's
 * action out.
 *
 * Not here: what a message means for the client, which table.ts decides.
 */

import { daemonMessage } from "../protocol/daemon-message.ts"
import type { ProtocolError, Unreadable } from "../protocol/outcome.ts"
import { type DaemonMessageAt, type DaemonRowKey, peekDaemon } from "../protocol/peek.ts"
import { compareVersions, protocolVersion } from "../protocol/version.ts"
import { type MemberFrame, messageOnly } from "./frame.ts"
import { clientVersion, logFromMember, warnUser } from "./handshake.ts"
import type { MemberName } from "./member.ts"
import { giveUp, owe } from "./membership.ts"
import { pongFromMember } from "./pings.ts"
import { drop, end, firstTime, type Link, nameOf, sayToMember, toClient, type Turn } from "./state.ts"
import { closeAsResult, offerAll, resultFromMember } from "./subscriptions.ts"
import { clientTable, type DaemonAction, type DaemonActions, daemonTable, neverUnread, outermost } from "./table.ts"
import { trafficFromMember } from "./traffic.ts"
import { mayRead, versionFromMember } from "./versions.ts"

/** Bytes of a member that is connected. */
interface Received {
  readonly member: MemberName
  readonly link: Link
  readonly bytes: Uint8Array
}

export const fromMember = (turn: Turn, member: MemberName, bytes: Uint8Array): void => {
  const link = turn.state.links.get(member)
  if (link === undefined) return drop(turn, "notLive")
  const received: Received = { member, link, bytes }
  const key = peekDaemon(bytes)
  if (key !== undefined) return handlers[daemonTable[key].action](turn, key, received)
  const checked = daemonMessage.check(bytes)
  if (checked._tag !== "Sound") cannotRead(turn, checked, received)
}

/** Handles messages whose row has the action `A`. A message may turn out to be unreadable. */
interface Handler<A extends DaemonAction> {
  (turn: Turn, key: DaemonRowKey, received: Received): void
  /** Only for the compiler: ties the messages that a handler reads to the rows that may name its action. */
  readonly "~action"?: A
}

const frameOf = (key: DaemonRowKey, { bytes, link, member }: Received, used: number): MemberFrame => ({
  key,
  row: daemonTable[key],
  bytes: messageOnly(bytes, used),
  member,
  link
})

/** For rows that need nothing of the content: the message is checked, but not decoded. */
const unread =
  <A extends DaemonAction>(handle: (turn: Turn, frame: MemberFrame) => void): Handler<A> =>
  (turn, key, received) => {
    const checked = daemonMessage.check(received.bytes)
    if (checked._tag !== "Sound") return cannotRead(turn, checked, received)
    handle(turn, frameOf(key, received, checked.used))
  }

type MessageOf<A extends DaemonAction> = DaemonMessageAt<DaemonActions[A]>

/** For rows that need the content. */
const reading =
  <A extends DaemonAction>(handle: (turn: Turn, message: MessageOf<A>, frame: MemberFrame) => void): Handler<A> =>
  (turn, key, received) => {
    const decoded = daemonMessage.decode(received.bytes)
    if (decoded._tag !== "Decoded") return cannotRead(turn, decoded, received)
    // The row was found by the tags that the decoder reads, and only rows of such messages may have the action `A`.
    handle(turn, decoded.value as MessageOf<A>, frameOf(key, received, decoded.used))
  }

const forward = (turn: Turn, { bytes, member, row }: MemberFrame): void =>
  row.treatment === "fromDefault" && member !== turn.state.options.defaultMember
    ? drop(turn, "notDefault")
    : toClient(turn, bytes)

const close = (turn: Turn, { value: reason }: DaemonMessageAt<"Close">, frame: MemberFrame): void => {
  const { bytes, link, member } = frame
  if (closeAsResult(turn, member, link, reason)) return
  if (member !== turn.state.options.defaultMember) return giveUp(turn, member, `it closed the connection: ${reason}`)
  toClient(turn, bytes)
  end(turn, "EndSession", reason)
}

const version = (
  turn: Turn,
  { value: answered }: DaemonMessageAt<"SwitchProtocolVersionResponse">,
  frame: MemberFrame
): void => {
  const { link, member } = frame
  versionFromMember(turn, answered, frame)
  if (
    link.version === undefined &&
    turn.state.client.readyForLogs &&
    mayRead(answered, clientTable.ReadyForLogs.since)
  ) {
    sayToMember(turn, member, { _tag: "ReadyForLogs" })
  }
  offerAll(turn, member, owe(turn))
}

const handlers: { readonly [A in DaemonAction]: Handler<A> } = {
  forward: unread(forward),
  drop: unread((turn) => drop(turn, "notForClients")),
  close: reading(close),
  log: reading((turn, message, { bytes }) => logFromMember(turn, message.value.level._tag, bytes)),
  pong: unread((turn, { link, member }) => pongFromMember(turn, member, link)),
  version: reading(version),
  operatorPing: reading((turn, { value }, { member }) => sayToMember(turn, member, { _tag: "OperatorPong", value })),
  result: reading(resultFromMember),
  open: reading(trafficFromMember),
  request: reading(trafficFromMember),
  use: reading(trafficFromMember),
  end: reading(trafficFromMember)
}

const cannotRead = (turn: Turn, why: Unreadable, { bytes, member }: Received): void => {
  if (why._tag === "Incomplete") return giveUp(turn, member, "it sent a message that ends too early")
  const { error } = why
  if (error._tag === "UnknownVariant" && member === turn.state.options.defaultMember) {
    return unknownFromDefault(turn, member, error, bytes)
  }
  unreadable(turn, member, error)
}

const unreadable = (turn: Turn, member: MemberName, { path, message }: ProtocolError): void =>
  giveUp(turn, member, `it sent a message that cannot be read: ${path}: ${message}`)

/**
 * A message of the default that we do not know. A newer client may know it and gets it. Another client would end its
 * connection on it, reconnect and end it again (wire.md §9.2).
 */
const unknownFromDefault = (turn: Turn, member: MemberName, error: ProtocolError, bytes: Uint8Array): void => {
  const tag = outermost(error)
  if (neverUnread.has(tag)) return unreadable(turn, member, error)
  if (compareVersions(clientVersion(turn.state), protocolVersion) > 0) return toClient(turn, bytes)
  if (!/^\d+$/.test(tag)) return unreadable(turn, member, error)
  drop(turn, "unknownDaemonTag")
  if (firstTime(turn, `unknown ${error.path}`)) {
    warnUser(
      turn,
      `a message of ${nameOf(turn.state, member)} is newer than protocol ${protocolVersion} and is dropped: ` +
        `${error.path}`
    )
  }
}
