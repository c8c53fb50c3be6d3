/**
 * Writes the answer to a request of a redirected connection back to its peer, upgrades included. Which answer it is, is
 * decided in `http-traffic.ts`.
 */

import * as http from "node:http"
import type { Duplex } from "node:stream"
import type { BodyFrame } from "../../../src/domain/protocol/http-messages.ts"
import type { Headers } from "../../../src/domain/protocol/shape.ts"

/**
 * Answers of a port with subscriptions must not be cached, because they change when the session ends (agent.md §6.7).
 */
const cacheControl = ["cache-control", "no-cache, no-store, must-revalidate"] as const

const latin1 = (bytes: Uint8Array): string => Buffer.from(bytes).toString("latin1")

/** Pairs of a header list. Framing is left to Node, which knows what the peer understands. */
const responseHeaders = (headers: ReadonlyArray<readonly [string, string]>): Array<string> =>
  [
    ...headers.filter(([name]) => !["transfer-encoding", "cache-control"].includes(name.toLowerCase())),
    cacheControl
  ].flat()

export const pairs = (raw: ReadonlyArray<string>): ReadonlyArray<readonly [string, string]> =>
  Array.from({ length: Math.floor(raw.length / 2) }, (_, i) => [raw[2 * i] ?? "", raw[2 * i + 1] ?? ""] as const)

/** Raw headers of Node in the form in which messages carry them. */
export const headerList = (raw: ReadonlyArray<string>): Headers =>
  pairs(raw).map(([name, value]) => [name.toLowerCase(), Buffer.from(value, "latin1")] as const)

export const textPairs = (headers: Headers): ReadonlyArray<readonly [string, string]> =>
  headers.map(([name, value]) => [name, latin1(value)] as const)

/** The raw connection under a request that asked for an upgrade. */
export interface Upgradable {
  readonly socket: Duplex
  /** Bytes that the peer sent after the request. */
  readonly head: Uint8Array
}

/** The way back to the peer that made a request. */
export class HttpAnswer {
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
    this.#response.sendDate = false
  }

  get started(): boolean {
    return this.#response.headersSent
  }

  /** Calls back once when the answer is over: written completely, or the peer is gone. It may be over already. */
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

  /** The writable side, for pipes. */
  get stream(): http.ServerResponse {
    return this.#response
  }

  /** @param complete the whole body if it is known already; the answer then says its length */
  start(
    status: number,
    reason: string | undefined,
    headers: ReadonlyArray<readonly [string, string]>,
    complete?: ReadonlyArray<BodyFrame>
  ): void {
    const list = responseHeaders(headers)
    const framed = headers.some(([name]) => ["content-length", "transfer-encoding"].includes(name.toLowerCase()))
    const mayHaveBody = status !== 204 && status !== 304
    if (complete?.every(({ _tag }) => _tag === "Data") === true && !framed && mayHaveBody) {
      list.push("content-length", String(complete.reduce((size, frame) => size + frame.value.length, 0)))
    }
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

  /** Writes the head of an upgrade; from here on the connection is raw. */
  upgrade(status: number, reason: string, headers: ReadonlyArray<readonly [string, string]>): void {
    const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("")
    this.upgradable?.socket.write(Buffer.from(`HTTP/1.1 ${status} ${reason}\r\n${lines}\r\n`, "latin1"))
  }

  trailers(headers: ReadonlyArray<readonly [string, string]>): void {
    this.#response.addTrailers(headers.map(([name, value]): [string, string] => [name, value]))
  }

  end(): void {
    this.#response.end()
  }

  /** Answers 502 with the reason, or cuts the connection if the answer has begun. */
  fail(reason: string): void {
    const text = `${reason}\n`
    if (this.#response.headersSent) {
      if (this.upgradable !== undefined) this.upgradable.socket.destroy()
      this.#response.destroy()
      return
    }
    this.start(502, undefined, [
      ["content-type", "text/plain"],
      ["content-length", String(Buffer.byteLength(text))]
    ])
    this.#response.end(text)
  }
}
