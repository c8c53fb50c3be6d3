/** Users of a target who speak HTTP/2. */

import * as http2 from "node:http2"
import type { Duplex } from "node:stream"

export interface Http2Answer {
  readonly headers: http2.IncomingHttpHeaders
  readonly trailers: http2.IncomingHttpHeaders | undefined
  readonly body: string
  /** The code with which the stream was reset, 0 for none. */
  readonly code: number
  /** Whether the answer was its headers alone. */
  readonly headersOnly: boolean
}

/** One connection with any number of requests. */
export class Http2Peer {
  readonly #session: http2.ClientHttp2Session

  /** @param secure a connection of TLS, for another server name */
  constructor(port: number, secure?: { readonly name: string; readonly socket: Duplex }) {
    this.#session =
      secure === undefined
        ? http2.connect(`http://127.0.0.1:${port}`)
        : http2.connect(`https://${secure.name}`, { createConnection: () => secure.socket })
    this.#session.on("error", () => undefined)
  }

  /** Begins a request; without `more` it is complete. */
  begin(headers: http2.OutgoingHttpHeaders, more: http2.ClientSessionRequestOptions = { endStream: true }) {
    const stream = this.#session.request(headers, more)
    let body = ""
    let answer: http2.IncomingHttpHeaders = {}
    let trailers: http2.IncomingHttpHeaders | undefined
    let headersOnly = false
    stream.setEncoding("latin1")
    stream.on("error", () => undefined)
    stream.on("response", (given, flags) => {
      answer = given
      headersOnly = (flags & http2.constants.NGHTTP2_FLAG_END_STREAM) !== 0
    })
    stream.on("trailers", (given) => {
      trailers = given
    })
    stream.on("data", (text: string) => {
      body += text
    })
    const answered = new Promise<Http2Answer>((resolve) => {
      stream.once("close", () => resolve({ headers: answer, trailers, body, code: stream.rstCode, headersOnly }))
    })
    return { stream, answered }
  }

  get(path: string, headers: http2.OutgoingHttpHeaders = {}): Promise<Http2Answer> {
    return this.begin({ ":path": path, ...headers }).answered
  }

  /** A request with a body. */
  post(
    headers: http2.OutgoingHttpHeaders,
    pieces: ReadonlyArray<string>,
    trailers?: http2.OutgoingHttpHeaders
  ): Promise<Http2Answer> {
    const given = { endStream: false, waitForTrailers: trailers !== undefined }
    const { answered, stream } = this.begin({ ":method": "POST", ...headers }, given)
    stream.once("wantTrailers", () => stream.sendTrailers(trailers ?? {}))
    for (const piece of pieces) stream.write(piece)
    stream.end()
    return answered
  }

  close(): void {
    this.#session.destroy()
  }
}
