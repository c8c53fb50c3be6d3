/**
 * Connections of the fuzzer to an operator's port: any bytes, in pieces, with pauses, and any end. Says what came back.
 * Judges nothing.
 */

import { once } from "node:events"
import { setImmediate as turn, setTimeout as pause } from "node:timers/promises"
import { connect, type TLSSocket } from "node:tls"
import { boundMinutes } from "../client/bound.ts"
import type { KeyPair } from "../cluster/http/pki.ts"
import { hostileAddress } from "./vitals.ts"

/** The certificate that a peer shows. */
export type Identity = "front proxy" | "stranger" | "nobody"

export interface Address {
  readonly host: string
  readonly port: number
}

/** The end when all is sent: half-close, cut, or leave it open until the peer's owner cuts it. */
export type Ending = "half-close" | "cut" | "stall"

/**
 * After this time without an end a connection hangs, in ms. Half of the usual bound, so that the input that hangs can
 * be tried again before a test is over.
 */
const hangs = (boundMinutes / 2) * 60_000

export class Peers {
  readonly #keys: Readonly<Record<Identity, KeyPair | undefined>>
  readonly #open = new Set<TLSSocket>()

  constructor(keys: Readonly<Record<Identity, KeyPair | undefined>>) {
    this.#keys = keys
  }

  /** Connects; undefined if the operator does not take the connection. */
  async dial({ host, port }: Address, identity: Identity): Promise<Peer | undefined> {
    const keys = this.#keys[identity]
    const options = {
      host,
      port,
      localAddress: hostileAddress,
      rejectUnauthorized: false,
      allowHalfOpen: true,
      ...(keys === undefined ? {} : { cert: keys.certPem, key: keys.keyPem })
    }
    const socket = connect(options)
    const peer = new Peer(socket)
    this.#open.add(socket)
    socket.once("close", () => this.#open.delete(socket))
    await Promise.race([once(socket, "secureConnect"), peer.closed])
    return socket.destroyed ? undefined : peer
  }

  /** Cuts all connections that are still open. */
  cutAll(): void {
    for (const socket of this.#open) socket.destroy()
  }
}

export class Peer {
  readonly socket: TLSSocket
  /** Completes when the connection is gone. */
  readonly closed: Promise<void>
  readonly #parts: Array<Buffer> = []
  readonly #ended: Promise<void>

  constructor(socket: TLSSocket) {
    this.socket = socket
    this.closed = new Promise((resolve) => {
      socket.once("close", () => resolve())
    })
    this.#ended = new Promise((resolve) => {
      socket.once("end", () => resolve())
    })
    socket.on("error", () => socket.destroy())
    socket.on("data", (chunk: Buffer) => this.#parts.push(chunk))
  }

  get heard(): Buffer {
    return Buffer.concat(this.#parts)
  }

  /** Sends bytes, cut at some places, and waits so many ms behind each piece. */
  async send(bytes: Uint8Array, cuts: ReadonlyArray<number> = [], pauseMs = 0): Promise<void> {
    const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].toSorted((a, b) => a - b)
    let from = 0
    for (const to of [...places, bytes.length]) {
      if (this.socket.destroyed || this.socket.writableEnded) return
      if (to > from) this.socket.write(bytes.subarray(from, to))
      from = to
      await (pauseMs === 0 ? turn() : pause(pauseMs))
    }
  }

  /** Waits until what was heard satisfies, or the other side has ended. Fails if neither comes. */
  async until(what: string, satisfies: (heard: Buffer) => boolean): Promise<boolean> {
    const begun = performance.now()
    let isOver = false
    void Promise.race([this.#ended, this.closed]).then(() => {
      isOver = true
    })
    for (;;) {
      if (satisfies(this.heard)) return true
      if (isOver) return false
      if (performance.now() - begun > hangs) throw new Error(`${what} did not come, and the connection did not end`)
      await pause(2)
    }
  }

  /** Waits for the same, but not longer than some ms. */
  async softly(satisfies: (heard: Buffer) => boolean, ms: number): Promise<void> {
    for (const begun = performance.now(); performance.now() - begun < ms && !this.socket.destroyed;) {
      if (satisfies(this.heard) || this.socket.readableEnded) return
      await pause(2)
    }
  }

  /** Ends the connection, and waits for the other side's end unless it is to stay open. */
  async end(ending: Ending): Promise<void> {
    if (ending === "stall") return
    if (ending === "cut") this.socket.destroy()
    else this.socket.end()
    await this.until("the end", () => false)
    this.socket.destroy()
    await this.closed
  }
}
