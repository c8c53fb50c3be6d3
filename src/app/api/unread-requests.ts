/**
 * Answers requests that the HTTP server does not hand over, because they are no HTTP, too large, too slow, or expect
 * something. Node would answer them without a body, which the real client shows without a reason (operator-api.md
 * §2.5).
 */

import type { IncomingMessage, Server, ServerResponse } from "node:http"
import type { Duplex } from "node:stream"
import { endWith, refusalText } from "./raw-answers.ts"
import { ApiError, badRequest, failureBody, tooLarge } from "./status.ts"

interface ParserError extends Error {
  readonly code?: string
  /** The parser's words, such as `Invalid header value char`. */
  readonly reason?: string
}

/** The codes are those that Node answers with. */
const refusalOf = ({ code, message, reason }: ParserError): ApiError => {
  switch (code) {
    case "HPE_HEADER_OVERFLOW":
      return new ApiError({
        code: 431,
        reason: "RequestHeaderFieldsTooLarge",
        message: "The headers of the request are too large."
      })
    case "HPE_CHUNK_EXTENSIONS_OVERFLOW":
      return tooLarge("The chunk extensions of the request are too large.")
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new ApiError({ code: 408, reason: "RequestTimeout", message: "The request took too long to arrive." })
    default:
      return badRequest(`The request is no HTTP/1.1: ${(reason ?? message).replace(/\.$/, "")}.`)
  }
}

const refuseExpectation = ({ headers }: IncomingMessage, response: ServerResponse): void => {
  const expected = JSON.stringify((headers.expect ?? "").slice(0, 100))
  const error = badRequest(`The header Expect is ${expected}; only 100-continue is served.`)
  const body = JSON.stringify(failureBody(error))
  response.writeHead(error.code, {
    "Content-Type": "application/json",
    "Content-Length": Buffer.byteLength(body),
    // The body, if there is one, is not read.
    Connection: "close"
  })
  response.end(body)
}

/** Sees to it that a server has a Status for everything that it refuses itself. `patience`: as for {@link endWith}. */
export const answerUnread = (server: Server, patience: number): void => {
  const answering = new WeakMap<Duplex, ServerResponse>()
  const refused = new WeakSet<Duplex>()
  server.on("request", (request: IncomingMessage, response: ServerResponse) => answering.set(request.socket, response))
  server.on("checkExpectation", refuseExpectation)
  server.on("clientError", (error: ParserError, socket: Duplex) => {
    const isUnread = error.code?.startsWith("HPE_") === true || error.code === "ERR_HTTP_REQUEST_TIMEOUT"
    // The rest of what cannot be read comes here again; the connection ends by itself.
    if (isUnread && refused.has(socket)) return
    const response = answering.get(socket)
    const isAnswering = response !== undefined && !response.writableFinished
    if (!isUnread || !socket.writable || (isAnswering && response.headersSent)) return void socket.destroy()
    refused.add(socket)
    const text = refusalText(refusalOf(error))
    // An answer that is still to come must not follow these words.
    if (isAnswering) socket.write(text, () => socket.destroy())
    else endWith(socket, text, patience)
  })
}
