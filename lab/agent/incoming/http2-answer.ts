/** Writes the answer to a request of HTTP/2 back to its peer. */

import { constants, type OutgoingHttpHeaders, type ServerHttp2Stream } from "node:http2"
import type { BodyFrame } from "../../../src/domain/protocol/http-messages.ts"
import { answerHeaders, failureHeaders, type HeaderPairs, type HttpAnswer } from "./http-answer.ts"
import { outgoingHeaders } from "./http2-headers.ts"

export class Http2Answer implements HttpAnswer {
  /** HTTP/2 knows no upgrades. */
  readonly upgradable = undefined
  readonly stream: ServerHttp2Stream
  /** Whether the peer asked for headers alone. */
  readonly #isHead: boolean
  #trailers: OutgoingHttpHeaders = {}

  constructor(stream: ServerHttp2Stream, method: string) {
    this.stream = stream
    this.#isHead = method === "HEAD"
    stream.once("wantTrailers", () => stream.sendTrailers(this.#trailers))
  }

  get started(): boolean {
    return this.stream.headersSent
  }

  onClose(run: (complete: boolean) => void): void {
    let called = false
    const over = (): void => {
      if (called) return
      called = true
      run(this.started && this.stream.writableFinished)
    }
    // Node finishes the writable side of a request for headers alone before anything is written.
    const isFinished = !this.#isHead && this.stream.writableFinished
    if (isFinished || this.stream.closed) return over()
    for (const event of ["aborted", "close", ...(this.#isHead ? [] : ["finish"])]) this.stream.once(event, over)
  }

  /** @param complete an empty list ends the answer with its headers, which gRPC expects of failures */
  start(status: number, _reason: string | undefined, headers: HeaderPairs, complete?: ReadonlyArray<BodyFrame>): void {
    this.#write(status, answerHeaders(headers), this.#isHead || complete?.length === 0)
  }

  #write(status: number, headers: HeaderPairs, endStream: boolean): void {
    if (this.stream.closed || this.stream.destroyed) return
    try {
      this.stream.respond(
        { ":status": status, ...outgoingHeaders(headers) },
        { endStream, waitForTrailers: !endStream }
      )
    } catch {
      // Nothing has been sent of an answer that HTTP/2 cannot carry, such as 101.
      this.stream.close(constants.NGHTTP2_INTERNAL_ERROR)
    }
  }

  trailers(headers: HeaderPairs): void {
    this.#trailers = outgoingHeaders(headers)
  }

  end(): void {
    this.stream.end()
  }

  fail(reason: string, code: number = constants.NGHTTP2_INTERNAL_ERROR): void {
    if (this.started) return this.stream.close(code)
    const text = `${reason}\n`
    this.#write(502, failureHeaders(text), false)
    if (this.started && !this.#isHead) this.stream.end(text)
  }
}
