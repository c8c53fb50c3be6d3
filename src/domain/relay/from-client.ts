/**
 * Handles a message of the client: finds its row, reads as much of the message as the row needs, and carries the row's
 * action out.
 *
 * Not here: where messages go, which table.ts decides.
 */

import { clientMessage } from "../protocol/client-message.ts"
import { maxMessage } from "../protocol/frame-cutter.ts"
import type { ProtocolError, Unreadable } from "../protocol/outcome.ts"
import { type ClientMessageAt, type ClientRowKey, peekClient } from "../protocol/peek.ts"
import { compareVersions, protocolVersion } from "../protocol/version.ts"
import { type ClientFrame, messageOnly } from "./frame.ts"
import { postpone, releaseLogs, warnUser } from "./handshake.ts"
import { limits } from "./limits.ts"
import { owe } from "./membership.ts"
import { pingFromClient } from "./pings.ts"
import {
  drop,
  end,
  firstTime,
  liveMembers,
  nameOf,
  sayToClient,
  toMember,
  type Turn,
  updateClient,
  warnOperator
} from "./state.ts"
import { subscribeFromClient, unsubscribeFromClient } from "./subscriptions.ts"
import { type ClientAction, type ClientActions, clientTable, neverUnread, outermost } from "./table.ts"
import { trafficFromClient } from "./traffic.ts"
import { mayRead, switchFromClient } from "./versions.ts"

export const fromClient = (turn: Turn, bytes: Uint8Array): void => {
  // A WebSocket ends before this; other channels may have no bound.
  if (bytes.length > maxMessage) {
    drop(turn, "oversizeClientMessage")
    if (firstTime(turn, "oversize"))
      warnUser(turn, `a message of the client has ${bytes.length} bytes; at most ${maxMessage} are taken`)
    return
  }
  if (!turn.state.links.has(turn.state.options.defaultMember)) {
    if (postpone(turn, bytes)) return
    const what = `the default ${turn.state.options.memberKind}`
    return end(
      turn,
      "DropClient",
      `the client sent more than ${limits.postponedBytes} bytes before ${what} was connected`
    )
  }
  const key = peekClient(bytes)
  if (key !== undefined) return handlers[clientTable[key].action](turn, key, bytes)
  const checked = clientMessage.check(bytes)
  if (checked._tag !== "Sound") cannotRead(turn, checked, bytes)
}

/** Handles messages whose row has the action `A`. A message may turn out to be unreadable. */
interface Handler<A extends ClientAction> {
  (turn: Turn, key: ClientRowKey, bytes: Uint8Array): void
  /** Only for the compiler: ties the messages that a handler reads to the rows that may name its action. */
  readonly "~action"?: A
}

/** For rows that need nothing of the content: the message is checked, but not decoded. */
const unread =
  <A extends ClientAction>(handle: (turn: Turn, frame: ClientFrame) => void): Handler<A> =>
  (turn, key, bytes) => {
    const checked = clientMessage.check(bytes)
    if (checked._tag !== "Sound") return cannotRead(turn, checked, bytes)
    handle(turn, { key, row: clientTable[key], bytes: messageOnly(bytes, checked.used) })
  }

type MessageOf<A extends ClientAction> = ClientMessageAt<ClientActions[A]>

/** For rows that need the content. */
const reading =
  <A extends ClientAction>(handle: (turn: Turn, message: MessageOf<A>, frame: ClientFrame) => void): Handler<A> =>
  (turn, key, bytes) => {
    const decoded = clientMessage.decode(bytes)
    if (decoded._tag !== "Decoded") return cannotRead(turn, decoded, bytes)
    // The row was found by the tags that the decoder reads, and only rows of such messages may have the action `A`.
    handle(turn, decoded.value as MessageOf<A>, {
      key,
      row: clientTable[key],
      bytes: messageOnly(bytes, decoded.used)
    })
  }

const forward = (turn: Turn, { bytes }: ClientFrame): void => toMember(turn, turn.state.options.defaultMember, bytes)

/**
 * A connect with an id. A default that is too old to read it would end its connection without a word, so the router
 * says why. `mirrord port-forward` alone comes here, for which no connection is possible then; of an error in the
 * answer it shows nothing.
 */
const connectFromClient = (turn: Turn, frame: ClientFrame): void => {
  const { defaultMember } = turn.state.options
  const version = turn.state.links.get(defaultMember)?.version
  if (version === undefined || mayRead(version, frame.row.since)) return forward(turn, frame)
  const why =
    `mirrord port-forward -L needs protocol ${frame.row.since}, and the agent of ` +
    `${nameOf(turn.state, defaultMember)} speaks ${version}; upgrade the operator there`
  warnOperator(turn, why)
  sayToClient(turn, { _tag: "Close", value: why })
  end(turn, "DropClient", why)
}

const dropRejected = (turn: Turn, { key, row }: ClientFrame): void => {
  drop(turn, "rejected")
  if (firstTime(turn, `rejected ${key}`)) warnOperator(turn, `${key} of the client is dropped: ${row.reason}`)
}

const refuseForGood = (turn: Turn): void => {
  sayToClient(turn, { _tag: "Close", value: vpnRefusal })
  end(turn, "EndSession", vpnRefusal)
}

const goodbye = (turn: Turn, { bytes }: ClientFrame): void => {
  for (const member of liveMembers(turn.state)) toMember(turn, member, bytes)
  end(turn, "DropClient", "the client said Close")
}

const readyForLogs = (turn: Turn, { bytes, row }: ClientFrame): void => {
  updateClient(turn, { readyForLogs: true })
  for (const member of liveMembers(turn.state)) {
    if (mayRead(turn.state.links.get(member)?.version, row.since)) toMember(turn, member, bytes)
  }
  releaseLogs(turn)
}

const handlers: { readonly [A in ClientAction]: Handler<A> } = {
  forward: unread(forward),
  connect: unread(connectFromClient),
  drop: unread(dropRejected),
  refuseForGood: unread(refuseForGood),
  goodbye: unread(goodbye),
  ping: unread((turn, { bytes }) => pingFromClient(turn, bytes, owe(turn))),
  switchVersion: reading((turn, message, { bytes }) => switchFromClient(turn, message.value, bytes, owe(turn))),
  readyForLogs: unread(readyForLogs),
  subscribe: reading((turn, message, frame) => subscribeFromClient(turn, message, frame, owe(turn))),
  unsubscribe: reading((turn, message, { bytes }) => unsubscribeFromClient(turn, message, bytes)),
  toOwner: reading(trafficFromClient),
  endOwner: reading(trafficFromClient),
  response: reading(trafficFromClient),
  endResponse: reading(trafficFromClient)
}

const cannotRead = (turn: Turn, unreadable: Unreadable, bytes: Uint8Array): void => {
  if (unreadable._tag === "Incomplete") return malformed(turn, "it ends too early")
  const { error } = unreadable
  if (error._tag === "UnknownVariant") return unknownFromClient(turn, error, bytes)
  malformed(turn, `${error.path}: ${error.message}`)
}

const malformed = (turn: Turn, why: string): void => {
  drop(turn, "malformedClientMessage")
  if (firstTime(turn, "malformed")) warnUser(turn, `a message of the client cannot be read and is dropped: ${why}`)
}

/**
 * A message that we do not know goes to the default only, and only if the default is newer than we are. It is never
 * broadcast: an older agent ends its connection on such a message (wire.md §9.1).
 */
const unknownFromClient = (turn: Turn, error: ProtocolError, bytes: Uint8Array): void => {
  const { defaultMember } = turn.state.options
  const version = turn.state.links.get(defaultMember)?.version
  const newer = version !== undefined && compareVersions(version, protocolVersion) > 0
  if (newer && !neverUnread.has(outermost(error))) return toMember(turn, defaultMember, bytes)
  drop(turn, "unknownClientTag")
  if (firstTime(turn, `unknown ${error.path}`)) {
    warnUser(turn, `a message of the client is newer than protocol ${protocolVersion} and is dropped: ${error.path}`)
  }
}

const vpnRefusal = "VPN is not supported: mirrord's agents have no VPN, use `mirrord exec` or `mirrord port-forward`"
