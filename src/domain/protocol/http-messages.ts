/**
 * Shapes of intercepted HTTP requests and of their responses (wire.md §3.5, §4.3). The router rewrites their ids, and
 * adapts responses to older agents.
 */

import { SocketAddr } from "./network-messages.ts"
import {
  bool,
  bytes,
  enumeration,
  fields,
  headers,
  httpVersion,
  list,
  method,
  newtype,
  option,
  status,
  struct,
  text,
  type TypedShape,
  type TypeOf,
  u16,
  u64,
  unitVariant,
  uri
} from "./shape.ts"

export const BodyFrame = enumeration("InternalHttpBodyFrame", {
  Data: newtype(bytes),
  Trailers: newtype(headers)
})
export type BodyFrame = TypeOf<typeof BodyFrame>

/** `InternalHttpBody` and `Vec<InternalHttpBodyFrame>` look the same on the wire. */
const frames = list(BodyFrame)

const internalRequest = <B>(body: TypedShape<B>) => struct({ method, uri, headers, version: httpVersion, body })
const internalResponse = <B>(body: TypedShape<B>) => struct({ status, version: httpVersion, headers, body })

/** The ids come last (wire.md §4.3). */
const httpRequest = <B>(body: TypedShape<B>) =>
  struct({ internalRequest: internalRequest(body), connectionId: u64, requestId: u16, port: u16 })

/** The connection id follows a port of one or three bytes (wire.md §3.5). */
const httpResponse = <B>(body: TypedShape<B>) =>
  struct({ port: u16, connectionId: u64, requestId: u16, internalResponse: internalResponse(body) })

export const HttpRequest = httpRequest(bytes)
export type HttpRequest = TypeOf<typeof HttpRequest>
export const HttpRequestFramed = httpRequest(frames)
export type HttpRequestFramed = TypeOf<typeof HttpRequestFramed>
export const HttpResponse = httpResponse(bytes)
export type HttpResponse = TypeOf<typeof HttpResponse>
export const HttpResponseFramed = httpResponse(frames)
export type HttpResponseFramed = TypeOf<typeof HttpResponseFramed>

const ChunkedBody = struct({ frames, isLast: bool, connectionId: u64, requestId: u16 })
const ChunkedError = struct({ connectionId: u64, requestId: u16 })

export const IncomingTrafficTransportType = enumeration("IncomingTrafficTransportType", {
  Tcp: unitVariant,
  Tls: fields({ alpnProtocol: option(bytes), serverName: option(text) })
})
export type IncomingTrafficTransportType = TypeOf<typeof IncomingTrafficTransportType>

export const ChunkedRequest = enumeration("ChunkedRequest", {
  StartV1: newtype(HttpRequestFramed),
  Body: newtype(ChunkedBody),
  ErrorV1: newtype(ChunkedError),
  StartV2: newtype(
    struct({
      connectionId: u64,
      requestId: u16,
      request: internalRequest(struct({ frames, isLast: bool })),
      metadata: enumeration("HttpRequestMetadata", { V1: fields({ source: SocketAddr, destination: SocketAddr }) }),
      transport: IncomingTrafficTransportType
    })
  ),
  ErrorV2: newtype(struct({ connectionId: u64, requestId: u16, errorMessage: text }))
})
export type ChunkedRequest = TypeOf<typeof ChunkedRequest>

export const ChunkedResponse = enumeration("ChunkedResponse", {
  Start: newtype(HttpResponseFramed),
  Body: newtype(ChunkedBody),
  Error: newtype(ChunkedError)
})
export type ChunkedResponse = TypeOf<typeof ChunkedResponse>
