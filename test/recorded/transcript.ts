/** Requests, answers and messages of a client and the operator, as data that are the same in every run. */

import { type Json, render } from "../../lab/vectors/golden-value.ts"
import { clientMessage } from "../../src/domain/protocol/client-message.ts"
import { daemonMessage, DaemonMessage } from "../../src/domain/protocol/daemon-message.ts"
import type { RelayedExchange, RelayedMessage } from "../support/client-relay.ts"

export interface RecordedExchange {
  readonly request: {
    readonly method: string
    readonly path: string
    readonly headers: Readonly<Record<string, string>>
    readonly body?: Json
  }
  readonly answer: {
    readonly status: number
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: Json
  }
  /**
   * Messages of the client as `> HEX NAME`, of the operator as `< HEX JSON`, and without the bytes where these vary.
   * Lines of the log come last, because they may come at any time.
   */
  readonly messages?: ReadonlyArray<string>
}

/** The exchanges of a command of the client. */
export interface RecordedCommand {
  readonly command: string
  /** The client's mirrord.json, beside the fields that all have. */
  readonly config?: object
  /** The client's exit code, if the command ended by itself. */
  readonly exit?: number
  readonly exchanges: ReadonlyArray<RecordedExchange>
}

export interface Recording {
  /** The client's version. */
  readonly client: string
  readonly commands: ReadonlyArray<RecordedCommand>
}

/** Stands for a body that goes on and on. */
export const endless = "<stream>"
/** In the last message of a session that somebody has ended. */
export const theEnd = '{"0":"This mirrord session has ended'
export const isFromClient = (message: string): boolean => message.startsWith(">")
export const isLog = (message: string): boolean => message.endsWith('"$":"LogMessage"}')

const certificateHeader = "x-client-der"
const parametersHeader = "x-mirrord-connect-params"
export const sessionHeader = "x-session-id"
/** Headers of a person and of the machine. */
const learned = [certificateHeader, "x-client-name", "x-client-hostname"]
/** Headers of single connections and moments. */
const unrecorded =
  /^(accept-encoding|audit-id|content-length|date|host|keep-alive|sec-websocket-(accept|key)|transfer-.*)$/u
/** Fields and variables of which the value varies. */
const varying =
  /^(creationTimestamp|duration_?[sS]ecs|fingerprint|licenseFingerprint|subscription_id|user_id|KUBERNETES_SERVICE_PORT.*)$/u
/** Texts that vary. */
const variants: ReadonlyArray<readonly [pattern: RegExp, as: string]> = [
  [/-----BEGIN CERTIFICATE REQUEST-----[^-]+-----END CERTIFICATE REQUEST-----\s*/gu, "<certificate request>"],
  [/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\s*/gu, "<certificate>"],
  [/[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/gu, "<uuid>"],
  [/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/gu, "<time>"],
  [/\b127\.\d+\.\d+\.\d+(:\d+)?/gu, "<address>"],
  [/\bbraid\.\d+\.\d+\.\d+/gu, "braid.<version>"]
]

const operatorPath = "/apis/operator.metalbear.co/v1/mirrordoperators/operator"
const isOperators = (path: string): boolean => path.startsWith("/apis/operator.metalbear.co/")

/** Whether an object is created in whose status the operator says what became of it. */
export const isOrder = ({ method, path, status }: RelayedExchange): boolean =>
  method === "POST" && path.startsWith("/apis/dbs.mirrord.metalbear.co/") && status === 201

/** Whether the number of such requests is a matter of time: watches of objects, looks at a copy until it is ready. */
const isRepeated = ({ method, path }: RelayedExchange, next: RelayedExchange | undefined): boolean =>
  (!isOperators(path) && path.includes("watch=true")) ||
  (method === "GET" && path.includes("/v1/namespaces/") && path.includes("/copytargets/") && path === next?.path)

const parsed = (text: string): Json => {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}
const text = (header: string | ReadonlyArray<string> | undefined): string => [header ?? ""].flat().join(", ")

/** The values of a run that stand in recordings by their names, such as ids and certificates. */
export class Placeholders {
  readonly #values = new Map<string, string>()
  #sessions = 0

  set(name: string, value: string): void {
    this.#values.set(`<${name}>`, value)
  }

  addSession(id: bigint): void {
    if ([...this.#values.values()].includes(id.toString())) return
    this.#sessions += 1
    const hex = id.toString(16)
    this.set(`session ${this.#sessions}`, id.toString())
    this.set(`SESSION ${this.#sessions}`, hex.toUpperCase())
    this.set(`session ${this.#sessions}, hex`, hex.padStart(16, "0"))
  }

  /** Takes the values from an exchange. */
  learn({ answer, headers, method, path, status }: RelayedExchange): void {
    for (const name of learned) if (headers[name] !== undefined) this.set(name, text(headers[name]))
    if (headers[sessionHeader] !== undefined) this.addSession(BigInt(text(headers[sessionHeader])))
    if (method !== "POST" || status !== 201) return
    const created = parsed(answer) as {
      readonly metadata?: { readonly name?: string }
      readonly status?: { readonly certificate?: string; readonly creator_session?: { readonly id?: string } }
    }
    const { certificate, creator_session: session } = created.status ?? {}
    if (certificate !== undefined) this.set(certificateHeader, certificate.replaceAll(/-----[^-]+-----|\s/gu, ""))
    if (session?.id !== undefined) this.addSession(BigInt(`0x${session.id}`))
    if (path.includes("/copytargets")) this.set("copy", created.metadata?.name ?? "")
  }

  /** A text of a recording with the values of this run. */
  fill(recorded: string): string {
    return recorded.replaceAll(/<[^<>]+>/gu, (name) => this.#values.get(name) ?? name)
  }

  /** A text of this run as in a recording. */
  hide(value: string): string {
    const person = `${this.#values.get("<x-client-name>") ?? ""}/ann@${this.#values.get("<x-client-hostname>") ?? ""}`
    let hidden = value.replaceAll(person, "<x-client-name>/ann@<x-client-hostname>")
    for (const [name, known] of this.#values) {
      if (name.startsWith("<x-")) continue
      // Names of objects hold an id without its leading zeros.
      hidden = hidden.replaceAll(known, name).replaceAll(known.replace(/^0+/u, ""), name)
    }
    for (const [pattern, as] of variants) hidden = hidden.replaceAll(pattern, as)
    return hidden
  }
}

/** A value as in recordings: fields in their order, and nothing that varies. */
const hidden = (value: Json, by: Pick<Placeholders, "hide">): Json =>
  JSON.parse(
    JSON.stringify(value, (name, part: Json) => {
      if (varying.test(name)) return `<${name}>`
      if (typeof part === "string") return by.hide(part)
      if (typeof part !== "object" || part === null) return part
      if (!Array.isArray(part)) return Object.fromEntries(Object.entries(part).toSorted())
      const variable = String(part[0])
      return varying.test(variable) ? [variable, `<${variable}>`] : part
    })
  ) as Json

const headersOf = (headers: RelayedExchange["headers"], by: Placeholders): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(headers)
      .map(([name, value]) => [name, text(value)] as const)
      .filter(([name, value]) => !unrecorded.test(name) && (name !== "connection" || value === "Upgrade"))
      .toSorted()
      .map(([name, value]) => {
        if (learned.includes(name)) return [name, `<${name}>`]
        return [name, by.hide(name === parametersHeader ? Buffer.from(value, "base64").toString() : value)]
      })
  )

/** A recorded header as the client sends it. */
export const sentHeader = (name: string, value: string, by: Placeholders): string =>
  name === parametersHeader ? Buffer.from(by.fill(value)).toString("base64") : by.fill(value)

const recordedMessage = ({ bytes, from }: RelayedMessage, by: Placeholders): ReadonlyArray<string> => {
  const hex = Buffer.from(bytes).toString("hex")
  const decoded = (from === "client" ? clientMessage : daemonMessage).decode(bytes)
  if (decoded._tag !== "Decoded") return [`${from}: ${decoded._tag} ${hex}`]
  const name = decoded.value._tag
  if (name === "OperatorPing" || name === "OperatorPong") return []
  if (from === "client") return [`> ${hex} ${name}`]
  const value = render(DaemonMessage, decoded.value)
  const said = JSON.stringify(hidden(value, by))
  const varies = bytes.length > 40 || said !== JSON.stringify(hidden(value, { hide: (kept) => kept }))
  return [varies ? `< ${said}` : `< ${hex} ${said}`]
}

/** So many messages are pings of a command that does nothing but ping, or agree on the version. */
const firstMessages = 4

const recordedMessages = ({ messages = [], path }: RelayedExchange, by: Placeholders): ReadonlyArray<string> => {
  const all = messages
    .flatMap((message) => recordedMessage(message, by))
    // The number of later pings is a matter of time.
    .filter((message, index) => index < firstMessages || !/^. 07 P[io]ng|^< 07 /u.test(message))
    .slice(0, path.endsWith("/ping") ? firstMessages : messages.length)
  return [...all.filter((message) => !isLog(message)), ...all.filter(isLog)]
}

/** `isFull`: whether the operator's own object is recorded; most commands begin with it. */
const recorded = (exchange: RelayedExchange, by: Placeholders, isFull: boolean): RecordedExchange => {
  const { answer, answerHeaders, body, headers, isOpen, messages, method, path, status } = exchange
  const answered = isOpen && status > 0 && messages === undefined ? endless : hidden(parsed(answer), by)
  const isTold = isOrder(exchange) || (isOperators(path) && (isFull || path !== operatorPath))
  return {
    request: {
      method,
      path: by.hide(path),
      headers: headersOf(headers, by),
      ...(body === "" ? {} : { body: hidden(parsed(body), by) })
    },
    answer: {
      status,
      // Other answers are those of the API server.
      ...(isOperators(path) ? { headers: headersOf(answerHeaders, by) } : {}),
      ...(isTold && answered !== "" ? { body: answered } : {})
    },
    ...(messages === undefined ? {} : { messages: recordedMessages(exchange, by) })
  }
}

export const recordedExchanges = (
  command: string,
  exchanges: ReadonlyArray<RelayedExchange>,
  by: Placeholders
): ReadonlyArray<RecordedExchange> => {
  for (const exchange of exchanges) by.learn(exchange)
  return exchanges
    .filter((exchange, index) => !isRepeated(exchange, exchanges[index + 1]))
    .map((exchange) => recorded(exchange, by, command.startsWith("operator status")))
}

/** `true` if a text is in an answer, for those who wait for it. */
export const holds = (exchanges: ReadonlyArray<RecordedExchange>, text: string): true | undefined =>
  exchanges.some(({ answer, messages = [] }) => `${JSON.stringify(answer)} ${messages.join(" ")}`.includes(text))
    ? true
    : undefined
