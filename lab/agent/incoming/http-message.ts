/** A request of a redirected connection, as filters, clients and the application get to see it. */

import type { IncomingMessage } from "node:http"
import type { Readable } from "node:stream"

/** A request. Headers and trailers are names and values in turn. */
export interface HttpMessage {
  readonly method: string
  /** Origin form (`/path?query`) or absolute form. */
  readonly uri: string
  readonly version: "HTTP/1.0" | "HTTP/1.1"
  readonly rawHeaders: ReadonlyArray<string>
  readonly hasBody: boolean
  /** It may also end because the peer breaks off; {@link complete} says so. */
  readonly body: Readable
  readonly complete: () => boolean
  /** They are known when the body has ended. */
  readonly rawTrailers: () => ReadonlyArray<string>
}

/** Whether a request has a body at all. */
export const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers["transfer-encoding"] !== undefined || Number(headers["content-length"] ?? 0) > 0

export const httpMessage = (message: IncomingMessage): HttpMessage => ({
  method: message.method ?? "",
  uri: message.url ?? "",
  version: message.httpVersion === "1.0" ? "HTTP/1.0" : "HTTP/1.1",
  rawHeaders: message.rawHeaders,
  hasBody: hasBody(message),
  body: message,
  complete: () => message.complete,
  rawTrailers: () => message.rawTrailers
})
