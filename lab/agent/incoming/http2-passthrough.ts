/** Passes requests of HTTP/2 that nobody steals on to the application, and the application's answers back. */

import * as http2 from "node:http2"
import type { Duplex } from "node:stream"
import { describeError } from "../node-errors.ts"
import { pairs } from "./http-answer.ts"
import { outgoingHeaders, withoutPseudo } from "./http2-headers.ts"
import type { ServedRequest } from "./served-request.ts"

const { NGHTTP2_CANCEL, NGHTTP2_FLAG_END_STREAM } = http2.constants

/** The cause of a stream's failure is often that of its connection. */
const reasonOf = (error: Error | undefined): string =>
  error === undefined ? "the application sent no answer" : describeError(error.cause ?? error)

/** Absolute and origin form, as `http2-connection.ts` makes them of pseudo headers. */
const pseudoHeaders = (method: string, uri: string): http2.OutgoingHttpHeaders => {
  if (method === "CONNECT") return { ":method": method, ":authority": uri }
  const [, scheme, authority, path] = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)(.*)$/i.exec(uri) ?? []
  return authority === undefined
    ? { ":method": method, ":path": uri }
    : { ":method": method, ":scheme": scheme, ":authority": authority, ":path": path }
}

/** One connection to the application for all requests of one peer. It is opened when a request needs it. */
export class Http2Application {
  readonly #connect: () => Duplex
  #session: http2.ClientHttp2Session | undefined

  constructor(connect: () => Duplex) {
    this.#connect = connect
  }

  destroy(): void {
    this.#session?.destroy()
  }

  #open(): http2.ClientHttp2Session {
    if (this.#session !== undefined && !this.#session.closed && !this.#session.destroyed) return this.#session
    const session = http2.connect("http://localhost", {
      createConnection: this.#connect,
      settings: { enablePush: false }
    })
    session.on("error", () => undefined)
    this.#session = session
    return session
  }

  /** Passes one request on. */
  pass({ message, body, answer }: ServedRequest, agentVersion: string): void {
    const { hasBody, method, rawHeaders, uri } = message
    const upstream = this.#open().request(
      { ...pseudoHeaders(method, uri), ...outgoingHeaders(pairs(rawHeaders)) },
      { endStream: !hasBody, waitForTrailers: hasBody }
    )
    let failure: Error | undefined
    let isOver = false
    let trailers: ReadonlyArray<string> = []
    upstream.on("error", (error) => {
      failure = error
    })
    upstream.once("response", (headers, flags, raw) => {
      const complete = (flags & NGHTTP2_FLAG_END_STREAM) === 0 ? undefined : []
      answer.start(Number(headers[":status"]), undefined, pairs(withoutPseudo(raw)), complete)
      upstream.pipe(answer.stream, { end: false })
    })
    upstream.once("trailers", (_headers, _flags, raw) => {
      trailers = raw
    })
    upstream.once("end", () => {
      if (!answer.started || upstream.rstCode !== http2.constants.NGHTTP2_NO_ERROR) return
      isOver = true
      answer.trailers(pairs(trailers))
      answer.end()
    })
    upstream.once("close", () => {
      // A peer may go on to send what the application does not read.
      body.resume()
      if (!isOver) answer.fail(`mirrord-agent v${agentVersion}: ${reasonOf(failure)}`, upstream.rstCode)
    })
    answer.onClose((complete) => {
      if (complete) return
      upstream.close(NGHTTP2_CANCEL)
      upstream.destroy()
    })
    if (!hasBody) return
    upstream.once("wantTrailers", () => upstream.sendTrailers(outgoingHeaders(pairs(message.rawTrailers()))))
    body.pipe(upstream)
  }
}
