/**
 * Builds the messages that carry incoming traffic, in the form that a client's announced version understands (wire.md
 * §4.4).
 */

import type { BodyFrame } from "../../../src/domain/protocol/http-messages.ts"
import type { DaemonTcp, NewTcpConnection } from "../../../src/domain/protocol/incoming-messages.ts"
import type { SocketAddr } from "../../../src/domain/protocol/network-messages.ts"
import type { Headers } from "../../../src/domain/protocol/shape.ts"
import { atLeast, gate } from "../../../src/domain/protocol/version.ts"

/** Form of the messages for a request; it follows from the version that the client has _announced_ (wire.md §4.4). */
export type RequestForm = "ChunkedV2" | "ChunkedV1" | "Framed" | "Full"

/** How a stolen request is sent; `undefined` if it must be passed through to the application. */
export const stolenRequestForm = (version: string, filtered: boolean, upgrade: boolean): RequestForm | undefined => {
  if (atLeast(version, gate.modeAgnosticHttpRequests)) return "ChunkedV2"
  if (!filtered || (upgrade && !atLeast(version, gate.httpFilteredUpgrade))) return undefined
  if (atLeast(version, gate.httpChunkedRequestV2)) return "ChunkedV2"
  if (atLeast(version, gate.httpChunkedRequest)) return "ChunkedV1"
  return atLeast(version, gate.httpFramed) ? "Framed" : "Full"
}

/** Whether requests can be mirrored to the client at all; the form is always `ChunkedV2`. */
export const canMirrorRequests = (version: string): boolean => atLeast(version, gate.modeAgnosticHttpRequests)

/** A request as it entered the target. */
export interface IncomingRequest {
  readonly method: string
  readonly uri: string
  readonly headers: Headers
  /** `HTTP/1.1`, `HTTP/2.0` */
  readonly version: string
  readonly source: SocketAddr
  readonly destination: SocketAddr
}

/** Current agents number requests by connection ids only (wire.md §7.3). */
export const requestId = 0

/** The first messages of a request, without any of its body, which follows in pieces unless `isLast`. */
export const requestStart = (
  form: "ChunkedV2" | "ChunkedV1",
  connectionId: bigint,
  request: IncomingRequest,
  isLast: boolean
): ReadonlyArray<DaemonTcp> => {
  const { source, destination, ...head } = request
  if (form === "ChunkedV2") {
    return [
      {
        _tag: "HttpRequestChunked",
        value: {
          _tag: "StartV2",
          value: {
            connectionId,
            requestId,
            request: { ...head, body: { frames: [], isLast } },
            metadata: { _tag: "V1", source, destination },
            transport: { _tag: "Tcp" }
          }
        }
      }
    ]
  }
  const start: DaemonTcp = {
    _tag: "HttpRequestChunked",
    value: {
      _tag: "StartV1",
      value: { internalRequest: { ...head, body: [] }, connectionId, requestId, port: destination.port }
    }
  }
  return isLast ? [start, requestBody(connectionId, [], true)] : [start]
}

export const requestBody = (connectionId: bigint, frames: ReadonlyArray<BodyFrame>, isLast: boolean): DaemonTcp => ({
  _tag: "HttpRequestChunked",
  value: { _tag: "Body", value: { frames, isLast, connectionId, requestId } }
})

const concat = (frames: ReadonlyArray<BodyFrame>): Uint8Array => {
  const parts = frames.flatMap((frame) => (frame._tag === "Data" ? [frame.value] : []))
  const whole = new Uint8Array(parts.reduce((size, part) => size + part.length, 0))
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** A request with its complete body in one message; the form `Full` loses trailers. */
export const wholeRequest = (
  form: "Framed" | "Full",
  connectionId: bigint,
  request: IncomingRequest,
  frames: ReadonlyArray<BodyFrame>
): DaemonTcp => {
  const {
    source: _source,
    destination: { port },
    ...head
  } = request
  const ids = { connectionId, requestId, port }
  return form === "Framed"
    ? { _tag: "HttpRequestFramed", value: { internalRequest: { ...head, body: frames }, ...ids } }
    : { _tag: "HttpRequest", value: { internalRequest: { ...head, body: concat(frames) }, ...ids } }
}

/** The first message of a connection that is not HTTP, or not treated as HTTP. */
export const newConnection = (
  version: string,
  connectionId: bigint,
  { destination, source }: Pick<IncomingRequest, "destination" | "source">
): DaemonTcp => {
  const connection: NewTcpConnection = {
    connectionId,
    remoteAddress: source.ip,
    destinationPort: destination.port,
    sourcePort: source.port,
    localAddress: destination.ip
  }
  return atLeast(version, gate.modeAgnosticHttpRequests)
    ? { _tag: "NewConnectionV2", value: { connection, transport: { _tag: "Tcp" } } }
    : { _tag: "NewConnectionV1", value: connection }
}
