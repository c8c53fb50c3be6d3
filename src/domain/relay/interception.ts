/**
 * The events that `mirrord subscribe` shows of a session: each stolen HTTP request and its response, in the shape of
 * the published operator. Bodies are not shown.
 *
 * Not here: the readers of such events (event-buffer.ts, app/relay/interceptions.ts).
 */

import { type ClientMessage, clientMessage } from "../protocol/client-message.ts"
import { type DaemonMessage, daemonMessage } from "../protocol/daemon-message.ts"
import type { ClientRowKey, DaemonRowKey } from "../protocol/peek.ts"
import type { Headers } from "../protocol/shape.ts"

/** The content of one event, in the published field names. */
export type Interception =
  | {
      readonly http_request: {
        readonly method: string
        readonly uri: string
        readonly headers: Readonly<Record<string, string>>
        readonly version: string
      }
    }
  | {
      readonly http_response: {
        readonly status: number
        readonly version: string
        readonly headers: Readonly<Record<string, string>>
      }
    }
  /** Events that the reader was too slow for. */
  | { readonly lagged: { readonly count: number } }

/** The session of an event. */
export interface InterceptedSession {
  /** Session key; `undefined` if the client has sent none. */
  readonly key: string | undefined
  /** Name of the target; empty for a session without one. */
  readonly service: string
}

/** Values of one name are joined as in HTTP. Bytes that are no UTF-8 become U+FFFD. */
const headersOf = (headers: Headers): Readonly<Record<string, string>> => {
  const texts = new Map<string, string>()
  const decoder = new TextDecoder()
  for (const [name, value] of headers) {
    const before = texts.get(name)
    texts.set(name, before === undefined ? decoder.decode(value) : `${before}, ${decoder.decode(value)}`)
  }
  return Object.fromEntries(texts)
}

type StolenMessage = Extract<DaemonMessage, { readonly _tag: "TcpSteal" }>["value"]

const requestIn = (message: StolenMessage) => {
  switch (message._tag) {
    case "HttpRequest":
    case "HttpRequestFramed":
      return message.value.internalRequest
    case "HttpRequestChunked": {
      const part = message.value
      if (part._tag === "StartV1") return part.value.internalRequest
      return part._tag === "StartV2" ? part.value.request : undefined
    }
    default:
      return undefined
  }
}

type StealMessage = Extract<ClientMessage, { readonly _tag: "TcpSteal" }>["value"]

const responseIn = (message: StealMessage) => {
  switch (message._tag) {
    case "HttpResponse":
    case "HttpResponseFramed":
      return message.value.internalResponse
    case "HttpResponseChunked":
      return message.value._tag === "Start" ? message.value.value.internalResponse : undefined
    default:
      return undefined
  }
}

/** The rows of the messages to the client that may bring a stolen request. */
export const requestRows: ReadonlySet<DaemonRowKey | undefined> = new Set<DaemonRowKey>([
  "TcpSteal.HttpRequest",
  "TcpSteal.HttpRequestFramed",
  "TcpSteal.HttpRequestChunked.StartV1",
  "TcpSteal.HttpRequestChunked.StartV2"
])

/** The rows of the client's messages that may bring a response. */
export const responseRows: ReadonlySet<ClientRowKey | undefined> = new Set<ClientRowKey>([
  "TcpSteal.HttpResponse",
  "TcpSteal.HttpResponseFramed",
  "TcpSteal.HttpResponseChunked.Start"
])

/** The stolen request that a message to the client brings; `undefined` if it brings none. */
export const stolenRequest = (bytes: Uint8Array): Interception | undefined => {
  const decoded = daemonMessage.decode(bytes)
  if (decoded._tag !== "Decoded" || decoded.value._tag !== "TcpSteal") return undefined
  const request = requestIn(decoded.value.value)
  if (request === undefined) return undefined
  const { headers, method, uri, version } = request
  return { http_request: { method, uri, headers: headersOf(headers), version } }
}

/** The response that a message of the client brings; `undefined` if it brings none. */
export const stolenResponse = (bytes: Uint8Array): Interception | undefined => {
  const decoded = clientMessage.decode(bytes)
  if (decoded._tag !== "Decoded" || decoded.value._tag !== "TcpSteal") return undefined
  const response = responseIn(decoded.value.value)
  if (response === undefined) return undefined
  const { headers, status, version } = response
  return { http_response: { status, version, headers: headersOf(headers) } }
}

/** One event as the client prints it. `at`: epoch ms. */
export const watchEventText = (data: Interception, { key, service }: InterceptedSession, at: number): string =>
  JSON.stringify({
    service_name: service,
    timestamp: `${new Date(at).toISOString().slice(0, 19)}Z`,
    ...(key === undefined ? {} : { session_key: key }),
    data
  })
