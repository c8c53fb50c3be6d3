/**
 * The last answer on a connection, written past the HTTP server: the socket has left it, or its request cannot be read.
 *
 * Not here: the answers of routes, which the HTTP server writes.
 */

import type { Duplex } from "node:stream"
import { type ApiError, failureBody } from "./status.ts"

/** The bytes of a refusal. */
export const refusalText = (error: ApiError): string => {
  const body = JSON.stringify(failureBody(error))
  return [
    `HTTP/1.1 ${error.code} ${error.reason}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
    "",
    body
  ].join("\r\n")
}

/** Ends a socket with a last text. A client that does not close its own side within `patience` ms is cut off. */
export const endWith = (socket: Duplex, text: string, patience: number): void => {
  socket.end(text)
  // Only a socket that is read notices that its other side has closed.
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), patience).unref()
  socket.once("close", () => clearTimeout(timer))
}
