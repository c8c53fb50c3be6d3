/** Writes the answer to a request of HTTP/1.x back to its peer, upgrades included. */

import * as http from "node:http"
import type { Duplex } from "node:stream"
import type { BodyFrame } from "../../../src/domain/protocol/http-messages.ts"
import { answerHeaders, failureHeaders, type HeaderPairs, type HttpAnswer, type Upgradable } from "./http-answer.ts"

/** Writes the head of an upgrade; from here on the connection is raw. */
export const writeUpgrade = (socket: Duplex, status: number, reason: string, headers: HeaderPairs): void => {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("")
  socket.write(Buffer.from(`HTTP/1.1 ${status} ${reason}\r\n${lines}\r\n`, "latin1"))
}

export class Http1Answer implements HttpAnswer {
  readonly #response: http.ServerResponse
  readonly upgradable: Upgradable | undefined

  /** @param upgradable given if the parser has let go of the connection, which then cannot serve another request */
  constructor(request: http.IncomingMessage, response: http.ServerResponse | undefined, upgradable?: Upgradable) {
    this.upgradable = upgradable
    if (response === undefined) {
      this.#response = new http.ServerResponse(request)
      this.#response.shouldKeepAlive = false
    } else {
      this.#response = response
    }
    // Each session that sees the request listens.
    this.#response.setMaxListeners(0)
  }

  get started(): boolean {
    return this.#response.headersSent
  }

  onClose(run: (complete: boolean) => void): void {
    let called = false
    const over = (): void => {
      if (called) return
      called = true
      run(this.#response.writableFinished)
    }
    if (this.#response.writableFinished || this.#response.destroyed) return over()
    this.#response.once("close", over)
    this.#response.once("finish", over)
    this.upgradable?.socket.once("close", over)
  }

  get stream(): http.ServerResponse {
    return this.#response
  }

  /** @param complete the whole body if it is known already; the answer then says its length */
  start(status: number, reason: string | undefined, headers: HeaderPairs, complete?: ReadonlyArray<BodyFrame>): void {
    const list = answerHeaders(headers).flat()
    const framed = headers.some(([name]) => ["content-length", "transfer-encoding"].includes(name.toLowerCase()))
    const mayHaveBody = status !== 204 && status !== 304
    if (complete?.every(({ _tag }) => _tag === "Data") === true && !framed && mayHaveBody) {
      list.push("content-length", String(complete.reduce((size, frame) => size + frame.value.length, 0)))
    }
    this.#write(status, reason, list)
  }

  #write(status: number, reason: string | undefined, list: Array<string>): void {
    if (this.upgradable !== undefined && this.upgradable.socket.writable) {
      // Only an answer that stays HTTP comes here, because an upgrade takes the socket itself.
      this.#assign(this.upgradable.socket)
    }
    if (reason === undefined || reason === "") this.#response.writeHead(status, list)
    else this.#response.writeHead(status, reason, list)
  }

  #assign(socket: Duplex): void {
    // `assignSocket` is typed for net.Socket, but takes any duplex, as `server.emit("connection", duplex)` is
    // documented to.
    const assign: (this: http.ServerResponse, socket: never) => void = this.#response.assignSocket
    assign.call(this.#response, socket as never)
    this.#response.once("finish", () => socket.end())
  }

  trailers(headers: HeaderPairs): void {
    this.#response.addTrailers(headers.map(([name, value]): [string, string] => [name, value]))
  }

  end(): void {
    this.#response.end()
  }

  fail(reason: string): void {
    const text = `${reason}\n`
    if (this.#response.headersSent) {
      if (this.upgradable !== undefined) this.upgradable.socket.destroy()
      this.#response.destroy()
      return
    }
    this.#write(502, undefined, failureHeaders(text).flat())
    this.#response.end(text)
  }
}
