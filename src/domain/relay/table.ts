/**
 * The routing table: for every message of either direction, where it goes and why; docs/reference/routing.md is printed
 * from it. Code acts on `action` and the treatment `fromDefault`, and on `since` where `gatedBy` is `router`; the log
 * uses `reason`. `to` and the treatments describe: the type ties `to` to the action, and a test sees every message take
 * that way. `lost` is for people alone. Carrying the rows out: from-client.ts, from-member.ts. Source of the reasons:
 * wire.md §8 and §9.
 */

import type { HttpFilter } from "../protocol/http-filter-messages.ts"
import type { ProtocolError } from "../protocol/outcome.ts"
import type { ClientRowKey, DaemonRowKey } from "../protocol/peek.ts"
import { gate } from "../protocol/version.ts"

interface Row {
  /** The min version of the receiving side that understands the message; `undefined` if the message always existed. */
  readonly since: string | undefined
  /** The meaning of a member's loss for the message or for its answer. */
  readonly lost: string
  readonly reason: string
  /** The citation, such as `wire.md §9.1`. */
  readonly source: string
}

/** The router's actions on a message of the client, each with the rows whose messages it can handle. */
export interface ClientActions {
  readonly forward: ClientRowKey
  readonly connect: "TcpOutgoing.ConnectV2" | "UdpOutgoing.ConnectV2"
  readonly goodbye: "Close"
  readonly ping: "Ping"
  readonly switchVersion: "SwitchProtocolVersion"
  readonly readyForLogs: "ReadyForLogs"
  readonly subscribe: "Tcp.PortSubscribe" | "Tcp.PortSubscribeFilteredHttp" | "TcpSteal.PortSubscribe"
  readonly unsubscribe: "Tcp.PortUnsubscribe" | "TcpSteal.PortUnsubscribe"
  readonly toOwner: "TcpSteal.Data"
  readonly endOwner: "Tcp.ConnectionUnsubscribe" | "TcpSteal.ConnectionUnsubscribe"
  readonly response:
    | "TcpSteal.HttpResponse"
    | "TcpSteal.HttpResponseFramed"
    | "TcpSteal.HttpResponseChunked.Start"
    | "TcpSteal.HttpResponseChunked.Body"
  readonly endResponse: "TcpSteal.HttpResponseChunked.Error"
  readonly refuseForGood: ClientRowKey
  readonly drop: ClientRowKey
}
export type ClientAction = keyof ClientActions

/** Where each action takes the message. `owner`: the member that allocated the message's connection id. */
interface Destinations {
  readonly forward: "default"
  readonly connect: "default"
  readonly goodbye: "all"
  readonly ping: "all"
  readonly switchVersion: "all"
  readonly readyForLogs: "all"
  readonly subscribe: "all"
  readonly unsubscribe: "all"
  readonly toOwner: "owner"
  readonly endOwner: "owner"
  readonly response: "owner"
  readonly endResponse: "owner"
  readonly refuseForGood: "answered"
  readonly drop: "rejected"
}

/** One row per action, so that `to` cannot disagree with `action`. */
export type ClientRow<A extends ClientAction = ClientAction> = Row & {
  /** The side that keeps the message away from a receiver that is too old. */
  readonly gatedBy: "client" | "router" | undefined
} & { readonly [B in A]: { readonly action: B; readonly to: Destinations[B] } }[A]

type Incoming<K extends string> = `Tcp.${K}` | `TcpSteal.${K}`

/**
 * As {@link ClientActions}, for a member's message. `open` makes a new client-facing id, `request` uses the known id or
 * makes one, `use` needs a known id, `end` frees it.
 */
export interface DaemonActions {
  readonly forward: DaemonRowKey
  readonly close: "Close"
  readonly log: "LogMessage"
  readonly pong: "Pong"
  readonly version: "SwitchProtocolVersionResponse"
  readonly result: Incoming<"SubscribeResult">
  readonly open: Incoming<"NewConnectionV1" | "NewConnectionV2">
  readonly request: Incoming<
    "HttpRequest" | "HttpRequestFramed" | "HttpRequestChunked.StartV1" | "HttpRequestChunked.StartV2"
  >
  readonly use: Incoming<
    "Data" | "HttpRequestChunked.Body" | "HttpRequestChunked.ErrorV1" | "HttpRequestChunked.ErrorV2"
  >
  readonly end: Incoming<"Close">
  readonly operatorPing: "OperatorPing"
  readonly drop: DaemonRowKey
}
export type DaemonAction = keyof DaemonActions

export type DaemonRow<A extends DaemonAction = DaemonAction> = Row & {
  readonly treatment: "forward" | "fromDefault" | "merge" | "rewriteId" | "consume" | "drop"
  readonly action: A
}

/** The actions that know how to handle messages of the row `K`. */
type ActionFor<Actions, K> = { [A in keyof Actions]: K extends Actions[A] ? A : never }[keyof Actions]

const lostDefault = "Default: the client's socket is closed and it starts again. Others: nothing, they never saw it."
const lostOwner = "The id is freed and closed towards the client; what still comes for it is dropped."
const lostAnswer =
  "Only the default answers, and its loss closes the client's socket: the client fails its own pending requests."

type Versions<K extends string> = { readonly [P in K]: string | undefined }

/** One row for each named variant of `prefix`. The rows differ in their version only. */
const each = <P extends string, K extends string, R extends Omit<Row, "since">>(
  prefix: P,
  versions: Versions<K>,
  row: R
): { readonly [Q in `${P}.${K}`]: R & Pick<Row, "since"> } =>
  Object.fromEntries(Object.entries(versions).map(([name, since]) => [`${prefix}.${name}`, { ...row, since }])) as {
    readonly [Q in `${P}.${K}`]: R & Pick<Row, "since">
  }

const stateful = (reason: string): Omit<ClientRow<"forward">, "since"> => ({
  to: "default",
  action: "forward",
  gatedBy: "client",
  lost: lostDefault,
  reason,
  source: "wire.md §9.1"
})
const outgoing = stateful(
  "one allocator of connection ids, so nothing has to be rewritten; broadcast connects kill the client (wire.md §8.3)"
)
const connect: ClientRow<"connect"> = {
  ...outgoing,
  to: "default",
  action: "connect",
  gatedBy: "router",
  since: gate.outgoingConnectV2,
  reason:
    "as Connect; `mirrord port-forward` sends it without a look at the version, and an older agent would end its " +
    "connection on it, so the router closes in its place and says why (wire.md §5.2)"
}
const files = stateful("file descriptors belong to one agent, answers are matched by position")

const subscribe: Omit<ClientRow<"subscribe">, "since"> = {
  to: "all",
  action: "subscribe",
  gatedBy: "router",
  lost: "A pending result no longer waits for it; it is subscribed again when it returns.",
  reason:
    "traffic may arrive anywhere; remembered for replay, results merged into one, filter kinds gated per member " +
    "(wire.md §8.4, §8.11, §8.19)",
  source: "wire.md §9.1"
}
const unsubscribe: ClientRow<"unsubscribe"> = {
  to: "all",
  action: "unsubscribe",
  gatedBy: undefined,
  since: undefined,
  lost: "Nothing: the subscription is not replayed to it.",
  reason: "forgets the subscription; has no answer",
  source: "wire.md §9.1"
}
const endOwner: ClientRow<"endOwner"> = {
  to: "owner",
  action: "endOwner",
  gatedBy: undefined,
  since: undefined,
  lost: lostOwner,
  reason:
    "agents' ids collide: id rewritten, then freed; may overtake data, so an unknown id is dropped silently " +
    "(wire.md §8.6, §8.8, §8.9)",
  source: "wire.md §9.1"
}
const response = (since: string | undefined, reason: string): ClientRow<"response"> => ({
  to: "owner",
  action: "response",
  gatedBy: since === undefined ? undefined : "router",
  since,
  lost: lostOwner,
  reason,
  source: "wire.md §9.1"
})
const rejected = (since: string | undefined, reason: string, source = "wire.md §9.1"): ClientRow<"drop"> => ({
  to: "rejected",
  action: "drop",
  gatedBy: undefined,
  since,
  lost: "Nothing.",
  reason,
  source
})

const beginning = undefined
const connectionRequests = { Connect: beginning, Write: beginning, Close: beginning }

/** The row of each client message. */
export const clientTable: { readonly [K in ClientRowKey]: ClientRow<ActionFor<ClientActions, K>> } = {
  Close: {
    to: "all",
    action: "goodbye",
    gatedBy: undefined,
    since: undefined,
    lost: "Nothing.",
    reason: "clean stop of every member, then the client's socket is closed; no client of 3.250 sends it",
    source: "wire.md §9.1"
  },
  ...each("Tcp", { PortSubscribe: beginning, PortSubscribeFilteredHttp: gate.mirrorHttpFilter }, subscribe),
  "Tcp.PortUnsubscribe": unsubscribe,
  "Tcp.ConnectionUnsubscribe": endOwner,
  "TcpSteal.PortSubscribe": { ...subscribe, since: undefined },
  "TcpSteal.PortUnsubscribe": unsubscribe,
  "TcpSteal.ConnectionUnsubscribe": endOwner,
  "TcpSteal.Data": {
    to: "owner",
    action: "toOwner",
    gatedBy: undefined,
    since: undefined,
    lost: lostOwner,
    reason:
      "broadcast, it would put one cluster's bytes into another's connection; empty data is a half-close " +
      "(wire.md §8.6, §8.25)",
    source: "wire.md §9.1"
  },
  "TcpSteal.HttpResponse": response(undefined, "understood by every agent; id rewritten"),
  "TcpSteal.HttpResponseFramed": response(gate.httpFramed, "id rewritten; an older owner gets HttpResponse instead"),
  "TcpSteal.HttpResponseChunked.Start": response(
    gate.httpChunkedResponse,
    "id rewritten; for an older owner the body is collected, bounded, and sent as HttpResponseFramed (wire.md §8.19)"
  ),
  "TcpSteal.HttpResponseChunked.Body": response(
    gate.httpChunkedResponse,
    "as Start; the id is at the end (wire.md §8.7)"
  ),
  "TcpSteal.HttpResponseChunked.Error": {
    ...response(gate.httpChunkedResponse, "id rewritten, then freed; an older owner gets status 502 (wire.md §8.9)"),
    action: "endResponse"
  },
  ...each("TcpOutgoing", connectionRequests, outgoing),
  "TcpOutgoing.ConnectV2": connect,
  ...each("UdpOutgoing", connectionRequests, outgoing),
  "UdpOutgoing.ConnectV2": connect,
  ...each("SeqpacketOutgoing", { Write: gate.seqpacket, Close: gate.seqpacket, ConnectV2: gate.seqpacket }, outgoing),
  ...each(
    "FileRequest",
    {
      Open: beginning,
      OpenRelative: beginning,
      Read: beginning,
      ReadLimited: beginning,
      Seek: beginning,
      Write: beginning,
      WriteLimited: beginning,
      Close: beginning,
      Access: beginning,
      Xstat: beginning,
      XstatFs: beginning,
      FdOpenDir: beginning,
      ReadDir: beginning,
      CloseDir: beginning,
      GetDEnts64: beginning,
      ReadLink: "1.6.0",
      ReadDirBatch: "1.9.0",
      MakeDir: "1.13.0",
      MakeDirAt: "1.13.0",
      RemoveDir: "1.14.0",
      Unlink: "1.14.0",
      UnlinkAt: "1.14.0",
      StatFs: "1.16.0",
      XstatFsV2: "1.18.0",
      StatFsV2: "1.18.0",
      Rename: "1.21.0",
      Ftruncate: "1.24.0",
      Futimens: "1.24.0",
      Fchown: "1.24.0",
      Fchmod: "1.24.0"
    },
    files
  ),
  GetEnvVarsRequest: { ...stateful("one truth; the answer is matched by position"), since: undefined },
  Ping: {
    to: "all",
    action: "ping",
    gatedBy: undefined,
    since: undefined,
    lost: "The Pong no longer waits for it.",
    reason: "one Pong per Ping, or the client dies: answers are counted per member (wire.md §8.2)",
    source: "wire.md §9.1"
  },
  GetAddrInfoRequest: { ...stateful("the answer is matched by position, together with V2"), since: undefined },
  PauseTargetRequest: rejected(undefined, "a dead feature; every agent answers it with Close (wire.md §8.15)"),
  SwitchProtocolVersion: {
    to: "all",
    action: "switchVersion",
    gatedBy: undefined,
    since: gate.switchProtocolVersion,
    lost: "Nothing: only the default's answer counts; a returning member is told again.",
    reason:
      "every member is told the client's true version, the client gets one answer: min(client, default) " +
      "(wire.md §8.1, §8.17, §8.18)",
    source: "wire.md §9.1"
  },
  ReadyForLogs: {
    to: "all",
    action: "readyForLogs",
    gatedBy: "router",
    since: gate.readyForLogs,
    lost: "Replayed when it returns.",
    reason: "else members drop their logs; ends the silence towards the client (wire.md §8.11, §8.16)",
    source: "wire.md §9.1"
  },
  Vpn: {
    to: "answered",
    action: "refuseForGood",
    gatedBy: undefined,
    since: "1.10.0",
    lost: "Nothing.",
    reason:
      "no agent supports it and each would answer Close; one Close is made here, because `mirrord vpn` would " +
      "wait for ever for an answer (wire.md §8.15)",
    source: "wire.md §9.1"
  },
  GetAddrInfoRequestV2: { ...stateful("the answer is matched by position, together with V1"), since: "1.15.0" },
  OperatorPong: rejected(
    gate.operatorPing,
    "answers an operator's own ping, and the router sends the client none; agents choke on it"
  ),
  ReverseDnsLookup: rejected(gate.reverseDns, "between operator and agent only"),
  ShareLink: rejected(gate.shareLink, "between operator and agent only: a client could register other sessions' keys")
}

const lostIncoming = "One Close for each of its open ids goes to the client, in the right channel (wire.md §8.10)."
const incoming = <A extends DaemonAction>(reason: string, action: A): Omit<DaemonRow<A>, "since"> => ({
  treatment: "rewriteId",
  action,
  lost: lostIncoming,
  reason,
  source: "wire.md §9.2"
})
const opens = incoming("a fresh client-facing id from the one counter: agents' ids collide (wire.md §8.5)", "open")
const requests = incoming(
  "as a new connection; several requests of one connection share its id, the request id is kept (wire.md §8.5, §8.7)",
  "request"
)
const uses = incoming(
  "dropped if the id is not mapped (wire.md §8.8); empty data is a half-close (wire.md §8.25)",
  "use"
)
const ends = incoming("frees the id; may come twice (wire.md §8.8, §8.9)", "end")
const subscribeResult: Omit<DaemonRow<"result">, "since"> = {
  treatment: "merge",
  action: "result",
  lost: "A lost member counts as answered.",
  reason: "one result per request, whatever the number of members (wire.md §8.4)",
  source: "wire.md §9.2"
}

const incomingRows = <P extends "Tcp" | "TcpSteal">(channel: P) => ({
  ...each(channel, { NewConnectionV1: beginning, NewConnectionV2: gate.modeAgnosticHttpRequests }, opens),
  ...each(
    channel,
    {
      HttpRequest: beginning,
      HttpRequestFramed: gate.httpFramed,
      "HttpRequestChunked.StartV1": gate.httpChunkedRequest,
      "HttpRequestChunked.StartV2": gate.httpChunkedRequestV2
    },
    requests
  ),
  ...each(
    channel,
    {
      Data: beginning,
      "HttpRequestChunked.Body": gate.httpChunkedRequest,
      "HttpRequestChunked.ErrorV1": gate.httpChunkedRequest,
      "HttpRequestChunked.ErrorV2": gate.httpChunkedRequestV2
    },
    uses
  ),
  ...each(channel, { Close: beginning }, ends),
  ...each(channel, { SubscribeResult: beginning }, subscribeResult)
})

const fromDefault = (reason: string): Omit<DaemonRow<"forward">, "since"> => ({
  treatment: "fromDefault",
  action: "forward",
  lost: lostAnswer,
  reason,
  source: "wire.md §9.2"
})
const connectionAnswers = { Connect: beginning, Read: beginning, Close: beginning, ConnectV2: gate.outgoingConnectV2 }
const outgoingAnswer = fromDefault("the request went to the default only")
const positional = fromDefault("matched by position: order of the default kept, a surplus one is fatal (wire.md §8.20)")
const dropped = (since: string | undefined, reason: string): DaemonRow<"drop"> => ({
  treatment: "drop",
  action: "drop",
  since,
  lost: "Nothing.",
  reason,
  source: "wire.md §9.2"
})

/** The row of each daemon message. */
export const daemonTable: { readonly [K in DaemonRowKey]: DaemonRow<ActionFor<DaemonActions, K>> } = {
  Close: {
    treatment: "fromDefault",
    action: "close",
    since: undefined,
    lost: "Nothing.",
    reason:
      "final for the client, so only the default may end the session; from another member it means that member " +
      "is lost. In place of the result of a filtered subscription it rejects that subscription (wire.md §8.14)",
    source: "wire.md §9.2"
  },
  ...incomingRows("Tcp"),
  ...incomingRows("TcpSteal"),
  ...each("TcpOutgoing", connectionAnswers, outgoingAnswer),
  ...each("UdpOutgoing", connectionAnswers, outgoingAnswer),
  ...each(
    "SeqpacketOutgoing",
    { Read: gate.seqpacket, Close: gate.seqpacket, ConnectV2: gate.seqpacket },
    outgoingAnswer
  ),
  LogMessage: {
    treatment: "forward",
    action: "log",
    since: undefined,
    lost: "The router adds one warning that names the member.",
    reason: "from every member, once the client has sent ReadyForLogs; level Info from 1.13.4 (wire.md §8.16)",
    source: "wire.md §9.2"
  },
  ...each(
    "File",
    {
      Open: beginning,
      Read: beginning,
      ReadLimited: beginning,
      Write: beginning,
      WriteLimited: beginning,
      Seek: beginning,
      Access: beginning,
      Xstat: beginning,
      XstatFs: beginning,
      ReadDir: beginning,
      OpenDir: beginning,
      GetDEnts64: beginning,
      ReadLink: "1.6.0",
      ReadDirBatch: "1.9.0",
      MakeDir: "1.13.0",
      RemoveDir: "1.14.0",
      Unlink: "1.14.0",
      XstatFsV2: "1.18.0",
      Rename: "1.21.0",
      Ftruncate: "1.24.0",
      Futimens: "1.24.0",
      Fchown: "1.24.0",
      Fchmod: "1.24.0"
    },
    positional
  ),
  Pong: {
    treatment: "merge",
    action: "pong",
    since: undefined,
    lost: "No longer waited for.",
    reason: "a surplus Pong kills the client (wire.md §8.2)",
    source: "wire.md §9.2"
  },
  GetEnvVarsResponse: { ...positional, since: undefined },
  GetAddrInfoResponse: { ...positional, since: undefined },
  PauseTarget: dropped(undefined, "fatal for every client"),
  SwitchProtocolVersionResponse: {
    treatment: "merge",
    action: "version",
    since: gate.switchProtocolVersion,
    lost: "No client waits for it.",
    reason: "a second answer is taken for another request's (wire.md §8.1); teaches the member's version",
    source: "wire.md §9.2"
  },
  Vpn: dropped("1.10.0", "fatal for every client"),
  OperatorPing: {
    treatment: "consume",
    action: "operatorPing",
    since: gate.operatorPing,
    lost: "Nothing.",
    reason:
      "answered here with OperatorPong to that member: the client's answer would not say to whom it belongs, and " +
      "its handshake forbids it",
    source: "wire.md §9.2"
  },
  ReverseDnsLookup: dropped(
    gate.reverseDns,
    "answers a request that only an operator makes, and the router makes none; fatal for every client"
  )
}

/** The least version of an agent that can read a subscription with such a filter (wire.md §5.2). */
export const filterSince: { readonly [K in HttpFilter["_tag"]]: string | undefined } = {
  Header: undefined,
  Path: undefined,
  Composite: gate.compositeFilter,
  Method: gate.methodFilter,
  Body: gate.bodyFilter,
  HeaderJq: gate.headerJqFilter
}

/** The least version of a client that can read a log line of such a level (wire.md §5.2). */
export const logLevelSince: { readonly [K in "Warn" | "Error" | "Info"]: string | undefined } = {
  Warn: undefined,
  Error: undefined,
  Info: gate.infoLog
}

/**
 * Outermost variants inside of which an unknown variant is never passed on unread (wire.md §9, §10.7): they hold ids to
 * rewrite and results to merge.
 */
export const neverUnread: ReadonlySet<string> = new Set(["Tcp", "TcpSteal"])

/**
 * The outermost variant of a message with an unknown variant; its index on the wire, if it is itself the unknown one.
 */
export const outermost = (error: ProtocolError): string => error.path.split(".")[1] ?? ""

/** Rows of messages that have no answer, and behind which a client sends others at once. */
export const unansweredRows: ReadonlySet<ClientRowKey | undefined> = new Set<ClientRowKey>([
  "FileRequest.Close",
  "FileRequest.CloseDir",
  "TcpSteal.HttpResponseChunked.Start"
])
