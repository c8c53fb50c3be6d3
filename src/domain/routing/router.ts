import { type ClientMessage, clientMessage } from "../protocol/client-message.ts"
import { type DaemonMessage, daemonMessage } from "../protocol/daemon-message.ts"
import type { ProtocolError } from "../protocol/outcome.ts"
import { largestMessage } from "../protocol/stream-decoder.ts"
import { atLeast, compareVersions, protocolVersion } from "../protocol/version.ts"
import { clientVersion, hold, logFromMember, releaseLogs, warnUser } from "./handshake.ts"
import { limits } from "./limits.ts"
import type { MemberName } from "./member.ts"
import { pingDeadline, pingFromClient, pongFromMember, settlePings } from "./pings.ts"
import {
  disconnect,
  drop,
  end,
  firstTime,
  initialState,
  type Link,
  liveMembers,
  nameOf,
  type RouterInput,
  type RouterOptions,
  type RouterOutput,
  type RouterState,
  sayToClient,
  sayToMember,
  setLink,
  toClient,
  toMember,
  type Turn,
  update,
  updateClient,
  wakeAt,
  warnOperator
} from "./state.ts"
import {
  askAgain,
  closeAsResult,
  loseSubscriber,
  offerAll,
  requestDeadline,
  resultFromMember,
  settleRequests,
  subscribeFromClient,
  unsubscribeFromClient
} from "./subscriptions.ts"
import { clientPath, clientTable, daemonPath, daemonTable, neverUnread } from "./table.ts"
import { loseTraffic, trafficFromClient, trafficFromMember } from "./traffic.ts"
import { introduce, switchFromClient, versionFromMember } from "./versions.ts"

export type { DropReason, RouterInput, RouterOptions, RouterOutput, RouterState } from "./state.ts"

/**
 * The router: one client connection, N members, as a pure machine. Where a message goes stands in `table.ts`; this file
 * carries it out. `docs/routing.md` is the readable form.
 */

export const makeRouter = (options: RouterOptions): RouterState => initialState(options)

/** Never throws, whatever the bytes; never changes a state that it was given. */
export const step = (state: RouterState, input: RouterInput): readonly [RouterState, ReadonlyArray<RouterOutput>] => {
  if (state.ended) return [state, []]
  const turn: Turn = { now: input.now, state, outputs: [] }
  // What was due before this input is settled without it: a late answer stays late even if the Tick comes after it.
  settle(turn)
  switch (input._tag) {
    case "FromClient":
      fromClient(turn, input.bytes)
      break
    case "FromMember":
      fromMember(turn, input.member, input.bytes)
      break
    case "MemberConnected":
      connected(turn, input.member)
      break
    case "MemberLost":
      if (turn.state.links.has(input.member)) lose(turn, input.member, input.reason)
      break
    case "MemberLeft":
      if (turn.state.links.has(input.member)) lose(turn, input.member, input.reason)
      setMembers(
        turn,
        turn.state.options.members.filter(
          (member) => member !== input.member || member === turn.state.options.defaultMember
        )
      )
      break
    case "WarnUser":
      warnUser(turn, input.message)
      break
    case "Tick":
      break
  }
  settle(turn)
  schedule(turn)
  return [turn.state, turn.outputs]
}

const settle = (turn: Turn): void => {
  settlePings(turn)
  settleRequests(turn)
  askAgain(turn, owe(turn))
}

const schedule = (turn: Turn): void => {
  const { state, now } = turn
  if (state.ended) return
  const at = Math.min(pingDeadline(state) ?? Infinity, requestDeadline(state) ?? Infinity, state.askAgainAt ?? Infinity)
  if (at === Infinity || (state.wakeAt !== undefined && state.wakeAt > now && state.wakeAt <= at)) return
  update(turn, { wakeAt: at })
  wakeAt(turn, at)
}

/** Notes what a member will owe. A member that owes too much is given up, which `false` says. */
const owe =
  (turn: Turn) =>
  (member: MemberName, change: (link: Link) => Link): boolean => {
    const link = turn.state.links.get(member)
    if (link === undefined) return false
    const next = change(link)
    const longest = Math.max(
      next.pings.length,
      next.versionSwitches.length,
      next.results.Tcp.length,
      next.results.TcpSteal.length
    )
    if (longest > limits.unanswered) {
      giveUp(turn, member, `it has not answered ${limits.unanswered} requests`)
      return false
    }
    setLink(turn, member, next)
    return true
  }

// Client

const fromClient = (turn: Turn, bytes: Uint8Array): void => {
  if (bytes.length > largestMessage) {
    drop(turn, "oversizeClientMessage")
    if (firstTime(turn, "oversize"))
      warnUser(turn, `a message of the client has ${bytes.length} bytes; at most ${largestMessage} are taken`)
    return
  }
  if (!turn.state.links.has(turn.state.options.defaultMember)) {
    if (!hold(turn, bytes))
      end(
        turn,
        "DropClient",
        `the client sent more than ${limits.heldBytes} bytes before the default ${turn.state.options.memberKind} ` +
          "was connected"
      )
    return
  }
  const decoded = clientMessage.decode(bytes)
  switch (decoded._tag) {
    case "Decoded":
      // Bytes after the message are ignored on a WebSocket (wire.md §1.1), but would be a message of their own on an
      // agent's socket.
      return handleClient(turn, decoded.value, decoded.used === bytes.length ? bytes : bytes.subarray(0, decoded.used))
    case "Incomplete":
      return malformed(turn, "it ends too early")
    case "Invalid":
      return decoded.error._tag === "UnknownVariant"
        ? unknownFromClient(turn, decoded.error, bytes)
        : malformed(turn, `${decoded.error.path}: ${decoded.error.message}`)
  }
}

const malformed = (turn: Turn, why: string): void => {
  drop(turn, "malformedClientMessage")
  if (firstTime(turn, "malformed")) warnUser(turn, `a message of the client cannot be read and is dropped: ${why}`)
}

/**
 * The outermost variant of a message in which an unknown one was found; the index itself if that is the unknown one.
 */
const outermost = (error: ProtocolError): string => error.path.split(".")[1] ?? ""

/** Never broadcast: an older agent ends its connection on it (wire.md §9.1). */
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

const handleClient = (turn: Turn, message: ClientMessage, bytes: Uint8Array): void => {
  const row = clientTable[clientPath(message)]
  switch (row.action) {
    case "forward":
      return toMember(turn, turn.state.options.defaultMember, bytes)
    case "drop":
      drop(turn, "rejected")
      if (firstTime(turn, `rejected ${message._tag}`))
        warnOperator(turn, `${message._tag} of the client is dropped: ${row.reason}`)
      return
    case "refuseForGood":
      sayToClient(turn, { _tag: "Close", value: vpnRefusal })
      return end(turn, "EndSession", vpnRefusal)
    case "goodbye":
      for (const member of liveMembers(turn.state)) toMember(turn, member, bytes)
      return end(turn, "DropClient", "the client said Close")
    case "ping":
      return pingFromClient(turn, bytes, owe(turn))
    case "switchVersion":
      if (message._tag === "SwitchProtocolVersion") switchFromClient(turn, message.value, bytes, owe(turn))
      return
    case "readyForLogs":
      updateClient(turn, { readyForLogs: true })
      for (const member of liveMembers(turn.state)) {
        if (mayRead(turn.state.links.get(member)?.version, row.since)) toMember(turn, member, bytes)
      }
      return releaseLogs(turn)
    case "subscribe":
      return subscribeFromClient(turn, message, bytes, owe(turn))
    case "unsubscribe":
      if ((message._tag === "Tcp" || message._tag === "TcpSteal") && message.value._tag === "PortUnsubscribe") {
        unsubscribeFromClient(turn, message._tag, message.value.value, bytes)
      }
      return
    case "toOwner":
    case "endOwner":
    case "response":
    case "endResponse":
      return trafficFromClient(turn, message, row, bytes)
  }
}

/** A member whose version is not known yet is told later, when its version answer comes ({@link fromMember}). */
const mayRead = (version: string | undefined, since: string | undefined): boolean =>
  since === undefined || (version !== undefined && atLeast(version, since))

// Members

const setMembers = (turn: Turn, members: ReadonlyArray<MemberName>): void =>
  update(turn, { options: { ...turn.state.options, members } })

const connected = (turn: Turn, member: MemberName): void => {
  const { options } = turn.state
  if (!options.members.includes(member)) setMembers(turn, [...options.members, member])
  if (turn.state.links.has(member)) lose(turn, member, "it was replaced by a new connection")
  if (turn.state.ended) return
  setLink(turn, member, { version: undefined, versionSwitches: [], pings: [], results: { Tcp: [], TcpSteal: [] } })
  if (options.pingMembersEvery !== undefined && turn.state.nextOwnPing === undefined) {
    update(turn, { nextOwnPing: turn.now + options.pingMembersEvery })
  }
  introduce(turn, member, owe(turn))
  offerAll(turn, member, owe(turn))
  if (member !== options.defaultMember) return
  const { held } = turn.state
  update(turn, { held: [], heldCost: 0 })
  for (const bytes of held) if (!turn.state.ended) fromClient(turn, bytes)
}

/**
 * The member's connection is gone. Of the default nothing can be made good behind the client's back (wire.md §8.12).
 */
const lose = (turn: Turn, member: MemberName, reason: string): void => {
  if (member === turn.state.options.defaultMember) {
    return end(turn, "DropClient", `the default ${nameOf(turn.state, member)} was lost: ${reason}`)
  }
  const links = new Map(turn.state.links)
  links.delete(member)
  update(turn, { links })
  loseTraffic(turn, member)
  loseSubscriber(turn, member)
  warnUser(turn, `${nameOf(turn.state, member)} was lost: ${reason}; its traffic is missing until it returns`)
}

/** As {@link lose}, for a member whose socket is still open. */
const giveUp = (turn: Turn, member: MemberName, reason: string): void => {
  if (member !== turn.state.options.defaultMember) disconnect(turn, member, reason)
  lose(turn, member, reason)
}

const fromMember = (turn: Turn, member: MemberName, bytes: Uint8Array): void => {
  const link = turn.state.links.get(member)
  if (link === undefined) return drop(turn, "notLive")
  const decoded = daemonMessage.decode(bytes)
  switch (decoded._tag) {
    case "Decoded":
      return handleMember(
        turn,
        member,
        link,
        decoded.value,
        decoded.used === bytes.length ? bytes : bytes.subarray(0, decoded.used)
      )
    case "Incomplete":
      return giveUp(turn, member, "it sent a message that ends too early")
    case "Invalid":
      return decoded.error._tag === "UnknownVariant" && member === turn.state.options.defaultMember
        ? unknownFromDefault(turn, member, decoded.error, bytes)
        : unreadable(turn, member, decoded.error)
  }
}

const unreadable = (turn: Turn, member: MemberName, { path, message }: ProtocolError): void =>
  giveUp(turn, member, `it sent a message that cannot be read: ${path}: ${message}`)

/**
 * The client may know what the router does not; a client that does not would drop its connection, again and again
 * (wire.md §9.2).
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

const handleMember = (turn: Turn, member: MemberName, link: Link, message: DaemonMessage, bytes: Uint8Array): void => {
  const row = daemonTable[daemonPath(message)]
  const isDefault = member === turn.state.options.defaultMember
  switch (row.action) {
    case "forward":
      return row.treatment === "fromDefault" && !isDefault ? drop(turn, "notDefault") : toClient(turn, bytes)
    case "drop":
      return drop(turn, "notForClients")
    case "close":
      if (message._tag === "Close") closeFromMember(turn, member, link, message.value, bytes)
      return
    case "log":
      if (message._tag === "LogMessage") logFromMember(turn, message.value.level._tag, bytes)
      return
    case "pong":
      return pongFromMember(turn, member, link)
    case "version":
      if (message._tag !== "SwitchProtocolVersionResponse") return
      versionFromMember(turn, member, link, message.value, bytes)
      if (
        link.version === undefined &&
        turn.state.client.readyForLogs &&
        mayRead(message.value, clientTable.ReadyForLogs.since)
      ) {
        sayToMember(turn, member, { _tag: "ReadyForLogs" })
      }
      return offerAll(turn, member, owe(turn))
    case "operatorPing":
      if (message._tag === "OperatorPing") sayToMember(turn, member, { _tag: "OperatorPong", value: message.value })
      return
    case "result":
      if ((message._tag === "Tcp" || message._tag === "TcpSteal") && message.value._tag === "SubscribeResult") {
        resultFromMember(turn, member, link, message._tag, message.value.value)
      }
      return
    case "open":
    case "request":
    case "use":
    case "end":
      if (message._tag === "Tcp" || message._tag === "TcpSteal") {
        trafficFromMember(turn, member, message._tag, message.value, row.action, bytes)
      }
  }
}

const closeFromMember = (turn: Turn, member: MemberName, link: Link, reason: string, bytes: Uint8Array): void => {
  if (closeAsResult(turn, member, link, reason)) return
  if (member !== turn.state.options.defaultMember) return giveUp(turn, member, `it closed the connection: ${reason}`)
  toClient(turn, bytes)
  end(turn, "EndSession", reason)
}
