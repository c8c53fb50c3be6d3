/**
 * Reads an upgrade of a target's path as a connect request (operator-api.md §7): the path's parts, the headers, the
 * parameters. Whether the request is allowed is decided behind the facade.
 */

import type { IncomingMessage } from "node:http"
import { Result } from "effect"
import type { Caller } from "../../domain/fleet/credentials/front-proxy.ts"
import { shownHeaderText } from "../../domain/fleet/credentials/header-text.ts"
import { connectSubprotocol, termHeader, traceparentHeader } from "../../domain/resources/operator-api.ts"
import { connectParamsHeader, decodeConnectHeader } from "../../domain/sessions/connect-request.ts"
import type { ConnectRequest } from "./operator-facade.ts"
import { type ApiError, badRequest } from "./status.ts"

/** An upgrade request of a known caller, its URL cut at the question mark. */
export interface UpgradeRequest {
  readonly request: IncomingMessage
  readonly caller: Caller
  readonly path: string
  readonly query: string
}

/**
 * The path of a target, or of a copy of one, below the API's root; with `proxy/` the API server has checked the right
 * to connect.
 */
export const targetPath =
  /^\/(?<proxy>proxy\/)?namespaces\/(?<namespace>[^/]+)\/(?<copy>copy)?targets\/(?<target>[^/]+)$/

const single = (request: IncomingMessage, name: string): string | undefined => {
  const value = request.headersDistinct[name]?.[0]
  // Some clients send a header twice, joined on the way (operator-api.md §2.2).
  return value?.split(",")[0]?.trim()
}

const shown = (request: IncomingMessage, name: string): string | undefined => {
  const value = request.headersDistinct[name]?.[0]
  return value === undefined ? undefined : shownHeaderText(value)
}

/**
 * The flaw of a WebSocket handshake, if any, so that nothing is prepared for a handshake that cannot succeed
 * (operator-api.md §7.3).
 */
export const handshakeProblem = (request: IncomingMessage): string | undefined => {
  const { headers, method } = request
  if (method !== "GET") return `The method is ${method}; a connect request is a GET.`
  if (headers.upgrade?.toLowerCase() !== "websocket")
    return `The header Upgrade is ${JSON.stringify(headers.upgrade ?? "")}; it must be websocket.`
  if (headers["sec-websocket-version"] !== "13") return "The header Sec-WebSocket-Version must be 13."
  if (!/^[+/0-9A-Za-z]{22}==$/.test(headers["sec-websocket-key"] ?? ""))
    return "The header Sec-WebSocket-Key must be base64 of 16 bytes."
  return subprotocolProblem(headers["sec-websocket-protocol"] ?? "")
}

/** RFC 6455 §4.1: a list of tokens (RFC 9110 §5.6.2), each once. The WebSocket library insists on both. */
const subprotocolProblem = (header: string): string | undefined => {
  const offered = header.split(",").map((protocol) => protocol.trim())
  if (!offered.includes(connectSubprotocol))
    return `The header Sec-WebSocket-Protocol must offer ${connectSubprotocol}.`
  const isList = /^[\t\x20-\x7e]*$/.test(header) && offered.every((protocol) => /^[\w!#$%&'*+.^`|~-]+$/.test(protocol))
  return isList && new Set(offered).size === offered.length
    ? undefined
    : "The header Sec-WebSocket-Protocol must be a list of different subprotocols, with a comma between each two."
}

const decodePart = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** `parts`: the named groups of {@link targetPath}. */
export const readConnectRequest = (
  { caller, path, query, request }: UpgradeRequest,
  parts: Readonly<Record<string, string | undefined>>
): Result.Result<ConnectRequest, ApiError> => {
  const namespace = decodePart(parts["namespace"] ?? "")
  const target = decodePart(parts["target"] ?? "")
  if (namespace === undefined || target === undefined)
    return Result.fail(badRequest(`The path ${path.slice(0, 200)} is not percent-encoded UTF-8.`))
  const problem = handshakeProblem(request)
  if (problem !== undefined) return Result.fail(badRequest(problem))
  const packed = single(request, connectParamsHeader)
  const unpacked = packed === undefined ? Result.succeed(query) : decodeConnectHeader(packed)
  if (Result.isFailure(unpacked)) return Result.fail(badRequest(unpacked.failure))
  return Result.succeed({
    caller,
    checked: parts["proxy"] === undefined ? "get" : "proxy",
    namespace,
    target,
    ...(parts["copy"] === undefined ? {} : { isCopy: true }),
    sessionId: single(request, "x-session-id"),
    certificate: single(request, "x-client-der"),
    clientVersion: single(request, "x-mirrord-cli-version"),
    clientName: shown(request, "x-client-name"),
    clientHostname: shown(request, "x-client-hostname"),
    term: single(request, termHeader),
    traceparent: single(request, traceparentHeader),
    query: unpacked.success
  })
}
