/**
 * Redirected connections of HTTP/2: each of their streams is a request of its own. Parsing and framing are Node's; how
 * requests are routed is in `http-traffic.ts`.
 */

import * as http2 from "node:http2"
import type { Duplex } from "node:stream"
import type { HttpAnswer } from "./http-answer.ts"
import type { HttpMessage } from "./http-message.ts"
import { Http2Answer } from "./http2-answer.ts"
import { withoutPseudo } from "./http2-headers.ts"

/** The target of a request as the real agent forms it: absolute if the peer names an authority. */
const uriOf = (headers: http2.IncomingHttpHeaders): string => {
  const { ":authority": authority, ":path": path, ":scheme": scheme } = headers
  if (authority === undefined) return path ?? ""
  return scheme === undefined ? authority : `${scheme}://${authority}${path ?? ""}`
}

const http2Message = (
  stream: http2.ServerHttp2Stream,
  headers: http2.IncomingHttpHeaders,
  raw: ReadonlyArray<string>
): HttpMessage => {
  let trailers: ReadonlyArray<string> = []
  stream.once("trailers", (_headers, _flags, rawTrailers) => {
    trailers = rawTrailers
  })
  return {
    method: headers[":method"] ?? "",
    uri: uriOf(headers),
    version: "HTTP/2.0",
    rawHeaders: withoutPseudo(raw),
    hasBody: !stream.endAfterHeaders,
    contentLength: Number(headers["content-length"] ?? 0),
    body: stream,
    complete: () => !stream.aborted && stream.rstCode === http2.constants.NGHTTP2_NO_ERROR,
    rawTrailers: () => trailers
  }
}

/** Takes over a connection whose first bytes, still unread, are the preface of HTTP/2. */
export const serveHttp2 = (socket: Duplex, serve: (message: HttpMessage, answer: HttpAnswer) => void): void => {
  const session = http2.performServerHandshake(socket)
  session.on("error", () => undefined)
  session.on("stream", (stream, headers, _flags, raw) => {
    stream.on("error", () => undefined)
    const message = http2Message(stream, headers, raw)
    serve(message, new Http2Answer(stream, message.method))
  })
  socket.once("end", () => session.close())
}
