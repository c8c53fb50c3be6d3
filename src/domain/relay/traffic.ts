/**
 * Incoming traffic, mirrored and stolen: messages about one connection or request. The id of a connection is the
 * member's own towards the member, and ours towards the client (wire.md §8.5 to §8.10, §8.24).
 *
 * Not here: subscribing to ports (subscriptions.ts), and where an id stands in a message (connection-id.ts).
 */

import type { ClientMessage } from "../protocol/client-message.ts"
import { daemonMessage } from "../protocol/daemon-message.ts"
import type { ClientMessageAt, DaemonMessageAt } from "../protocol/peek.ts"
import { atLeast } from "../protocol/version.ts"
import { adaptResponse, forgetCollected, responseOf } from "./collected-response.ts"
import { addressedByClient, addressedByMember } from "./connection-id.ts"
import type { ClientFrame, MemberFrame } from "./frame.ts"
import { warnUser } from "./handshake.ts"
import { type Channel, clientIdOf, freeId, freeMember, openId, openIds, type Route, routeOf } from "./ids.ts"
import { limits } from "./limits.ts"
import type { MemberName } from "./member.ts"
import { markRequest } from "./session-key.ts"
import { drop, firstTime, nameOf, sayToClient, sayToMember, toClient, toMember, type Turn, update } from "./state.ts"
import type { ClientActions, DaemonActions } from "./table.ts"

const free = (turn: Turn, clientId: bigint): void =>
  update(turn, { ids: freeId(turn.state.ids, clientId), collected: forgetCollected(turn.state.collected, clientId) })

const closeAtClient = (turn: Turn, channel: Channel, clientId: bigint): void => {
  free(turn, clientId)
  sayToClient(turn, { _tag: channel, value: { _tag: "Close", value: { connectionId: clientId } } })
}

/** Refuses a member's connection, so that the connection's peer does not wait. */
const refuse = (turn: Turn, member: MemberName, channel: Channel, memberId: bigint): void =>
  sayToMember(turn, member, { _tag: channel, value: { _tag: "ConnectionUnsubscribe", value: memberId } })

type TrafficAction = "open" | "request" | "use" | "end"

/** Passes a member's message about one connection on to the client, with the client-facing id. */
export const trafficFromMember = (
  turn: Turn,
  { _tag: channel, value: message }: DaemonMessageAt<DaemonActions[TrafficAction]>,
  { bytes, member, row: { action } }: MemberFrame
): void => {
  const addressed = addressedByMember(message)
  if (addressed === undefined) return
  const known = clientIdOf(turn.state.ids, member, channel, addressed.id)
  const { keyHeader } = turn.state.options
  const header = action === "request" && channel === "TcpSteal" ? keyHeader : undefined
  const send = (id: bigint): void => {
    if (id === addressed.id && header === undefined) return toClient(turn, bytes)
    const renamed = addressed.withId(id)
    toClient(
      turn,
      daemonMessage.encode({ _tag: channel, value: header === undefined ? renamed : markRequest(renamed, header) })
    )
  }

  if (action === "use" || action === "end" || (action === "request" && known !== undefined)) {
    if (known === undefined) return drop(turn, "strayId")
    send(known)
    if (action === "end") free(turn, known)
    return
  }
  // Clients that have not subscribed end their connection on such a message (wire.md §6.2 A to D, F).
  if (!turn.state.client.subscribed[channel]) {
    drop(turn, "unsolicitedTraffic")
    return refuse(turn, member, channel, addressed.id)
  }
  if (known !== undefined) closeAtClient(turn, channel, known)
  if (openIds(turn.state.ids) >= limits.openIds) {
    if (firstTime(turn, "ids"))
      warnUser(turn, `more than ${limits.openIds} incoming connections are open; new ones are refused`)
    drop(turn, "tooManyConnections")
    return refuse(turn, member, channel, addressed.id)
  }
  const [ids, clientId] = openId(turn.state.ids, member, channel, addressed.id)
  update(turn, { ids })
  send(clientId)
}

/** Passes a client's message on to the member that owns its id, with the member's own id. */
export const trafficFromClient = (
  turn: Turn,
  message: ClientMessageAt<ClientActions["toOwner" | "endOwner" | "response" | "endResponse"]>,
  { bytes, row }: ClientFrame
): void => {
  const addressed = addressedByClient(message)
  if (addressed === undefined) return
  const { channel, id: clientId } = addressed
  const route = routeOf(turn.state.ids, channel, clientId)
  if (route === undefined) return drop(turn, "strayId")
  const { member, memberId } = route
  const version = turn.state.links.get(member)?.version
  if (row.action === "response" || row.action === "endResponse") {
    if (row.since !== undefined && version !== undefined && !atLeast(version, row.since)) {
      respondInOldForm(turn, message, route, version)
      if (row.action === "endResponse") free(turn, clientId)
      return
    }
  }
  if (memberId === clientId) toMember(turn, member, bytes)
  else sayToMember(turn, member, addressed.withId(memberId))
  if (row.action === "endOwner" || row.action === "endResponse") free(turn, clientId)
}

/** Sends a response to a member that is too old for the form in which the client sent it. */
const respondInOldForm = (turn: Turn, message: ClientMessage, { member, memberId }: Route, version: string): void => {
  const response = responseOf(message)
  if (response === undefined) return
  const [collected, adapted] = adaptResponse(turn.state.collected, response, version)
  update(turn, { collected })
  if (adapted._tag === "Wait") return
  if (adapted._tag === "GiveUp") {
    drop(turn, "collectedTooMuch")
    if (firstTime(turn, `collected ${member}`)) {
      warnUser(
        turn,
        `responses to ${nameOf(turn.state, member)} are too large: its agent speaks protocol ${version} and ` +
          "takes whole bodies only; upgrade the operator there"
      )
    }
  }
  const addressed = addressedByClient({ _tag: "TcpSteal", value: adapted.message })
  if (addressed !== undefined) sayToMember(turn, member, addressed.withId(memberId))
}

/** Closes everything that a lost member had open, towards the client. */
export const loseTraffic = (turn: Turn, member: MemberName): void => {
  const [ids, open] = freeMember(turn.state.ids, member)
  update(turn, { ids })
  for (const { clientId, channel } of open) closeAtClient(turn, channel, clientId)
}
