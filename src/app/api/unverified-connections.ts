/**
 * Gives little to connections that are not the front proxy's, before any HTTP is read: some KiB of headers, one
 * request, some seconds, and all together a number of connections. Probes of the kubelet need no more.
 *
 * Not here: whether a connection is the front proxy's, and whether a caller is let in (caller.ts).
 */

import { createServer, type Server } from "node:http"
import type https from "node:https"
import { Socket } from "node:net"
import type { Duplex } from "node:stream"
import type { TLSSocket } from "node:tls"

/** Largest headers of a stranger's request, in bytes; those of a probe have about 100. */
const maxHeaders = 16 * 1024
/**
 * Most connections of strangers at once; a new connection ends the oldest. The API server's own connections are
 * strangers' until the end of their handshake, so a flood must not keep these out.
 */
export const maxStrangers = 256

/** Names a connection by its two ends, which a TLS socket and the TCP socket below it have in common. */
const endsOf = ({ localAddress, localPort, remoteAddress, remotePort }: Socket): string =>
  `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`

/** TCP connections of strangers, the oldest first. Each ends after some time, or when there are too many. */
class Waiting {
  readonly #sockets = new Map<string, Socket>()
  readonly #patience: number

  constructor(patience: number) {
    this.#patience = patience
  }

  add(socket: Socket): void {
    const ends = endsOf(socket)
    if (this.#sockets.size >= maxStrangers) this.#endOldest()
    this.#sockets.set(ends, socket)
    const isThere = (): boolean => this.#sockets.get(ends) === socket
    const end = (): void => {
      if (isThere()) socket.destroy()
    }
    // Bytes that have come meanwhile are read first: after a standstill of this process the timer is always late.
    const timer = setTimeout(() => setImmediate(end), this.#patience).unref()
    socket.once("close", () => {
      clearTimeout(timer)
      if (isThere()) this.#sockets.delete(ends)
    })
  }

  /** The connection is the front proxy's, and may last. `socket`: the TLS socket of it. */
  release(socket: TLSSocket): void {
    this.#sockets.delete(endsOf(socket))
  }

  endAll(): void {
    for (const socket of this.#sockets.values()) socket.destroy()
  }

  #endOldest(): void {
    const [oldest] = this.#sockets
    if (oldest === undefined) return
    const [ends, socket] = oldest
    this.#sockets.delete(ends)
    socket.destroy()
  }
}

export interface StrangersOptions {
  readonly isFrontProxy: (socket: TLSSocket) => boolean
  /** How long a stranger's connection lives, from its first packet on, in ms. */
  readonly patience: number
}

/** The connections that are not the front proxy's, or not yet. */
export interface Strangers {
  /** Serves their requests; it listens nowhere. */
  readonly server: Server
  readonly endAll: () => void
}

/**
 * Takes strangers' connections away from a server. The certificate is judged after the handshake, when no HTTP has been
 * read. Node's bound of header bytes is that of a server and not of a connection, so strangers have a server of their
 * own.
 */
export const divertStrangers = (main: https.Server, { isFrontProxy, patience }: StrangersOptions): Strangers => {
  const server = createServer({ maxHeaderSize: maxHeaders, requireHostHeader: false })
  server.on("request", (_request, response) => response.setHeader("connection", "close"))
  const waiting = new Waiting(patience)
  main.on("connection", (socket: Duplex) => {
    if (socket instanceof Socket) waiting.add(socket)
  })
  // The listeners that `https` itself has put there; they begin to read HTTP.
  const serve = main.listeners("secureConnection")
  main.removeAllListeners("secureConnection")
  main.on("secureConnection", (socket) => {
    if (!isFrontProxy(socket)) return void server.emit("connection", socket)
    waiting.release(socket)
    for (const listener of serve) listener.call(main, socket)
  })
  return { server, endAll: () => waiting.endAll() }
}
