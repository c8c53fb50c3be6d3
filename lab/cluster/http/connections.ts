/**
 * The TCP sockets under TLS sockets. A TLS socket cannot be reset, only its transport can, and two cases need a reset:
 * a server that goes away, and a tunnel whose other end was reset.
 */

import type { Socket } from "node:net"
import type { TLSSocket } from "node:tls"

export class Connections {
  readonly #open = new Set<Socket>()
  readonly #transports = new WeakMap<object, Socket>()
  readonly #byPeer = new Map<string, Socket>()

  /** Registers an accepted or opened transport. */
  add(transport: Socket): void {
    this.#open.add(transport)
    const peer = peerOf(transport)
    this.#byPeer.set(peer, transport)
    transport.on("error", () => transport.destroy())
    transport.on("close", () => {
      this.#open.delete(transport)
      if (this.#byPeer.get(peer) === transport) this.#byPeer.delete(peer)
    })
  }

  /** Joins an accepted TLS socket with its transport, by the peer's address. */
  secured(socket: TLSSocket): void {
    const transport = this.#byPeer.get(peerOf(socket))
    if (transport !== undefined) this.#transports.set(socket, transport)
  }

  join(socket: TLSSocket, transport: Socket): void {
    this.#transports.set(socket, transport)
  }

  /** Ends a connection so that the peer sees a reset. */
  reset(socket: { readonly destroy: () => unknown }): void {
    this.#transports.get(socket)?.resetAndDestroy()
    socket.destroy()
  }

  resetAll(): void {
    for (const transport of this.#open) transport.resetAndDestroy()
    this.#open.clear()
  }
}

const peerOf = (socket: Socket): string =>
  `${socket.remoteAddress ?? ""} ${socket.remotePort ?? 0} ${socket.localPort ?? 0}`
