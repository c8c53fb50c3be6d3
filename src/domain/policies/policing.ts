/**
 * Enforces policies on the messages of one connection: says for each message of the client whether it goes on, goes on
 * with a change, or is answered here. Only messages about which some policy says something are read; all others pass as
 * they are.
 *
 * Not here: the rules (incoming-rules.ts, file-rules.ts, outgoing-rules.ts), and carrying the decisions out
 * (app/relay).
 */

import { quotation } from "../clean-text.ts"
import { AnswerOrder } from "../protocol/answer-order.ts"
import { type ClientMessage, clientMessage } from "../protocol/client-message.ts"
import { type DaemonMessage, daemonMessage } from "../protocol/daemon-message.ts"
import type { FileRequest } from "../protocol/file-messages.ts"
import { type ClientDecision, pass } from "../protocol/message-filter.ts"
import type { SocketAddress } from "../protocol/network-messages.ts"
import { type ClientRowKey, clientRowKeys, type DaemonRowKey, daemonRowKeys } from "../protocol/peek.ts"
import type { BlockedAction, ResponseError } from "../protocol/response-error.ts"
import { isAnswered, type KeptFile, keptFile, maxPath, type NamedFile, namedFiles, refusal } from "./file-rules.ts"
import { type Forbidden, forbiddenMirror, forbiddenSteal } from "./incoming-rules.ts"
import { forbiddenConnection, maxName, type OutgoingProtocol, SeenNames } from "./outgoing-rules.ts"
import type { PolicyRules } from "./policy-rules.ts"

/** Adapts an error to a client's version, as `readableError` of the router does. */
type ErrorForm = (error: ResponseError) => ResponseError

const encoded = (message: DaemonMessage): Uint8Array => daemonMessage.encode(message)

const forbidden = (blockedAction: BlockedAction, { policy, reason }: Forbidden, form: ErrorForm): ResponseError =>
  form({ _tag: "ForbiddenWithReason", blockedAction, policyName: policy, reason })

/** `warning`: a sentence about a refusal that the program cannot show, once for each sort. */
const answered = (answers: ReadonlyArray<Uint8Array>, warning?: string): ClientDecision => ({
  _tag: "Answered",
  answers,
  warning
})

/**
 * The most files whose paths are remembered while they are open, the most characters of all these paths, and the most
 * warnings of one connection.
 */
const maxOpenFiles = 20_000
const maxOpenCharacters = 4 * 1024 * 1024
const maxTold = 100

type Subscribe = Extract<ClientMessage, { readonly _tag: "Tcp" | "TcpSteal" }>
type Outgoing = Extract<ClientMessage, { readonly _tag: "TcpOutgoing" | "UdpOutgoing" | "SeqpacketOutgoing" }>

const protocolOf: Readonly<Record<Outgoing["_tag"], OutgoingProtocol>> = {
  TcpOutgoing: "TCP",
  UdpOutgoing: "UDP",
  SeqpacketOutgoing: "Seqpacket"
}

const mirrors: ReadonlyArray<ClientRowKey> = ["Tcp.PortSubscribe", "Tcp.PortSubscribeFilteredHttp"]
const connects: ReadonlyArray<ClientRowKey> = [
  "TcpOutgoing.Connect",
  "TcpOutgoing.ConnectV2",
  "UdpOutgoing.Connect",
  "UdpOutgoing.ConnectV2",
  "SeqpacketOutgoing.ConnectV2"
]
const lookups: ReadonlyArray<ClientRowKey> = ["GetAddrInfoRequest", "GetAddrInfoRequestV2"]
const files: ReadonlyArray<ClientRowKey> = clientRowKeys.filter((key) => key.startsWith("FileRequest."))

/** The rows of a client's messages that concern a policy. */
const rowsOf = ({ blocks, files: kept, headerFilter, hiddenVariables, outgoing }: PolicyRules) => {
  const rules = [...outgoing.allow, ...outgoing.block]
  const isStealLimited = blocks.has("steal") || blocks.has("steal-without-filter") || headerFilter !== undefined
  const steals: ReadonlyArray<ClientRowKey> = isStealLimited ? ["TcpSteal.PortSubscribe"] : []
  const variables: ReadonlyArray<ClientRowKey> = hiddenVariables.length > 0 ? ["GetEnvVarsRequest"] : []
  return [
    ...steals,
    ...variables,
    ...(blocks.has("mirror") ? mirrors : []),
    ...(rules.length > 0 ? connects : []),
    ...(rules.some(({ hostname }) => hostname !== undefined) ? lookups : []),
    ...(kept.local.length + kept.notFound.length + kept.readOnly.length > 0 ? files : [])
  ]
}

/** The rows of the answers whose order {@link Policing} keeps. */
export const answerRows: ReadonlySet<DaemonRowKey | undefined> = new Set<DaemonRowKey>([
  ...daemonRowKeys.filter((key) => key.startsWith("File.")),
  "TcpOutgoing.Connect",
  "UdpOutgoing.Connect",
  "GetAddrInfoResponse"
])

/** The state of one connection under policies. */
export class Policing {
  /** The rows of a client's messages that {@link asked} decides about: those of unknown kinds are among them. */
  readonly rows: ReadonlySet<ClientRowKey | undefined>
  readonly #policies: ReadonlyArray<PolicyRules>
  readonly #hiddenVariables: ReadonlyArray<string>
  /** The notes are paths of files that are being opened. */
  readonly #files = new AnswerOrder<string | undefined>()
  readonly #connects = { TcpOutgoing: new AnswerOrder<undefined>(), UdpOutgoing: new AnswerOrder<undefined>() }
  /** The notes are names that are being looked up. */
  readonly #lookups = new AnswerOrder<string>()
  readonly #openFiles = new Map<bigint, string>()
  #openCharacters = 0
  readonly #names = new SeenNames()
  readonly #told = new Set<string>()

  private constructor(policies: ReadonlyArray<PolicyRules>, rows: ReadonlySet<ClientRowKey>) {
    this.rows = new Set([...rows, undefined])
    this.#policies = policies
    this.#hiddenVariables = policies.flatMap(({ hiddenVariables }) => hiddenVariables)
  }

  /** `policies`: those that apply to the session. `undefined` if no message concerns any of them. */
  static of(policies: ReadonlyArray<PolicyRules>): Policing | undefined {
    const rows = new Set(policies.flatMap(rowsOf))
    return rows.size === 0 ? undefined : new Policing(policies, rows)
  }

  /**
   * Decides about a message of the client, of one of the {@link rows}. An answer that must wait for those to earlier
   * requests comes from {@link answered}. Bytes that are no message pass, as they go no further than the router. A
   * message that is too new for us does not: the router may pass it on to an agent that knows it.
   */
  asked(bytes: Uint8Array, form: ErrorForm): ClientDecision {
    const decoded = clientMessage.decode(bytes)
    if (decoded._tag === "Invalid" && decoded.error._tag === "UnknownVariant") return this.#tooNew(decoded.error.path)
    if (decoded._tag !== "Decoded") return pass
    const message = decoded.value
    switch (message._tag) {
      case "Tcp":
      case "TcpSteal":
        return this.#subscribe(message, form)
      case "GetEnvVarsRequest": {
        const { envVarsFilter, envVarsSelect } = message.value
        const filter = new Set([...envVarsFilter, ...this.#hiddenVariables])
        const value = { envVarsFilter: filter, envVarsSelect }
        return { _tag: "PassChanged", bytes: clientMessage.encode({ _tag: "GetEnvVarsRequest", value }) }
      }
      case "TcpOutgoing":
      case "UdpOutgoing":
      case "SeqpacketOutgoing":
        return this.#outgoing(message, form)
      case "GetAddrInfoRequest":
      case "GetAddrInfoRequestV2":
        return this.#lookUp(message.value.node)
      case "FileRequest":
        return this.#file(message.value, form)
      default:
        return pass
    }
  }

  /** The answers that are due behind a message to the client, of one of the {@link answerRows}. */
  answered(bytes: Uint8Array, row: DaemonRowKey | undefined): ReadonlyArray<Uint8Array> {
    switch (row) {
      case "TcpOutgoing.Connect":
        return this.#connects.TcpOutgoing.answered().due
      case "UdpOutgoing.Connect":
        return this.#connects.UdpOutgoing.answered().due
      case "GetAddrInfoResponse":
        return this.#lookedUp(bytes)
      default:
        return this.#fileAnswered(row === "File.Open" ? bytes : undefined)
    }
  }

  #tooNew(path: string): ClientDecision {
    const sentence = "a message of the client is too new to be judged by the session's policies and is dropped"
    return answered([], this.#once(path, `${sentence}: ${path}`))
  }

  /** The sentence, the first time that there is one of its sort. */
  #once(sort: string, sentence: string): string | undefined {
    if (this.#told.has(sort) || this.#told.size >= maxTold) return undefined
    this.#told.add(sort)
    return sentence
  }

  #subscribe(message: Subscribe, form: ErrorForm): ClientDecision {
    if (message._tag === "TcpSteal") {
      if (message.value._tag !== "PortSubscribe") return pass
      const { value: steal } = message.value
      const found = forbiddenSteal(this.#policies, steal)
      if (found === undefined) return pass
      const error = forbidden({ _tag: "Steal", value: steal }, found, form)
      const value = { _tag: "SubscribeResult", value: { _tag: "Err", error } } as const
      return answered([encoded({ _tag: "TcpSteal", value })])
    }
    const { value } = message
    if (value._tag !== "PortSubscribe" && value._tag !== "PortSubscribeFilteredHttp") return pass
    const found = forbiddenMirror(this.#policies)
    if (found === undefined) return pass
    const port = value._tag === "PortSubscribe" ? value.value : value.port
    const error = forbidden({ _tag: "Mirror", value: port }, found, form)
    return answered([encoded({ _tag: "Tcp", value: { _tag: "SubscribeResult", value: { _tag: "Err", error } } })])
  }

  #lookUp(node: string): ClientDecision {
    if (this.#lookups.isFull) return tooMuch
    // Not the beginning of it: the engine would keep the whole text with it.
    const name = node.length > maxName ? tooLongName : node
    this.#lookups.asked(name, name.length)
    return pass
  }

  #outgoing(message: Outgoing, form: ErrorForm): ClientDecision {
    const { value } = message
    if (value._tag !== "Connect" && value._tag !== "ConnectV2") return pass
    const address = value.value.remoteAddress
    const protocol = protocolOf[message._tag]
    const found = forbiddenConnection(this.#policies, { protocol, address, names: this.#names })
    if (value._tag === "Connect") return this.#connect(message._tag, address, found, form)
    if (found === undefined) return pass
    const connect = { _tag: "Err", error: forbidden(actionOf(message._tag, address), found, form) } as const
    const answer = { _tag: "ConnectV2", value: { uid: value.value.uid, connect } } as const
    return answered([encoded({ _tag: message._tag, value: answer })], this.#connectWarning(address, found))
  }

  /** The connects of old clients have no id: their answers are told apart by their order. */
  #connect(
    tag: Outgoing["_tag"],
    address: SocketAddress,
    found: Forbidden | undefined,
    form: ErrorForm
  ): ClientDecision {
    if (tag === "SeqpacketOutgoing") return pass
    const order = this.#connects[tag]
    if (order.isFull) return tooMuch
    if (found === undefined) {
      order.asked(undefined)
      return pass
    }
    const error = forbidden(actionOf(tag, address), found, form)
    const answer = encoded({ _tag: tag, value: { _tag: "Connect", value: { _tag: "Err", error } } })
    return answered(order.refused(answer), this.#connectWarning(address, found))
  }

  /** The program sees no more than a connection that was reset. */
  #connectWarning(address: SocketAddress, { policy, reason }: Forbidden): string | undefined {
    const place = address._tag === "Ip" ? `${address.value.ip} port ${address.value.port}` : "a Unix socket"
    return this.#once(
      `${place} ${policy}`,
      `the mirrord policy "${policy}" forbids a connection to ${place}: ${reason}`
    )
  }

  #file(request: FileRequest, form: ErrorForm): ClientDecision {
    if (!isAnswered(request)) {
      if (request._tag === "Close") this.#closed(request.value.fd)
      return pass
    }
    if (this.#files.isFull) return tooMuch
    const files = namedFiles(request).map((file) => ({ path: this.#pathOf(file), use: file.use }))
    for (const { path, use } of files) {
      const kept = keptFile(this.#policies, path, use)
      const value = kept === undefined ? undefined : refusal(request, form(kept.error))
      if (kept === undefined || value === undefined) continue
      return answered(this.#files.refused(encoded({ _tag: "File", value })), this.#warning(kept, path))
    }
    const isOpening = request._tag === "Open" || request._tag === "OpenRelative"
    const path = isOpening ? (files[0]?.path ?? "") : ""
    // A path that is too long is not worth its memory: no system opens it.
    if (path === "" || path.length > maxPath) this.#files.asked(undefined)
    else this.#files.asked(path, path.length)
    return pass
  }

  #opened(fd: bigint, path: string): void {
    this.#closed(fd)
    if (this.#openFiles.size >= maxOpenFiles || this.#openCharacters >= maxOpenCharacters) return
    this.#openFiles.set(fd, path)
    this.#openCharacters += path.length
  }

  #closed(fd: bigint): void {
    this.#openCharacters -= this.#openFiles.get(fd)?.length ?? 0
    this.#openFiles.delete(fd)
  }

  /** The path of a file in a request, as far as it is known. */
  #pathOf({ below, path }: NamedFile): string | undefined {
    if (below === undefined || path?.startsWith("/") === true) return path
    const folder = this.#openFiles.get(below)
    return folder === undefined || path === undefined ? folder : `${folder}/${path}`
  }

  #warning({ how, policy }: KeptFile, path: string | undefined): string | undefined {
    const place = how === "local" ? "on your machine alone" : how
    const file = path === undefined ? "a file below a directory that was not seen being opened" : quotation(path)
    return this.#once(
      `${how} ${policy}`,
      `the mirrord policy "${policy}" keeps files of the target ${place}, such as ${file}; further ones are not told`
    )
  }

  /** `opened`: the answer, if it is one to the opening of a file. */
  #fileAnswered(opened: Uint8Array | undefined): ReadonlyArray<Uint8Array> {
    const { note, due } = this.#files.answered()
    if (note === undefined || opened === undefined) return due
    const decoded = daemonMessage.decode(opened)
    if (decoded._tag !== "Decoded" || decoded.value._tag !== "File" || decoded.value.value._tag !== "Open") return due
    const { value: result } = decoded.value.value
    if (result._tag === "Ok") this.#opened(result.value.fd, note)
    return due
  }

  #lookedUp(bytes: Uint8Array): ReadonlyArray<Uint8Array> {
    const { note, due } = this.#lookups.answered()
    const decoded = daemonMessage.decode(bytes)
    if (note === undefined || decoded._tag !== "Decoded" || decoded.value._tag !== "GetAddrInfoResponse") return due
    const { value: result } = decoded.value
    if (result._tag === "Ok") for (const { ip } of result.value) this.#names.saw(note, ip)
    return due
  }
}

/** Kept in place of any text that is too long for a name. */
const tooLongName = "?".repeat(maxName + 1)

const tooMuch: ClientDecision = {
  _tag: "TooMuch",
  reason: "the client asked for more than it may while earlier requests were not answered"
}

const actionOf = (tag: Outgoing["_tag"], address: SocketAddress): BlockedAction => ({
  _tag: tag === "UdpOutgoing" ? "OutgoingUdp" : "OutgoingTcp",
  value: address
})
