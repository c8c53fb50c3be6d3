/**
 * A TCP server that passes each of its connections on to another address, bytes untouched. It knows nothing of
 * Services: `service-proxy.ts` and `service-entry.ts` choose the addresses.
 */

import * as net from "node:net"
import type { Endpoint } from "./endpoint.ts"

/** Asks `next` for the target of each connection; without a target the connection is reset. The caller listens. */
export class TcpForwarder {
  readonly server: net.Server
  readonly #sockets = new Set<net.Socket>()

  constructor(next: () => Endpoint | undefined) {
    this.server = net.createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
      const to = next()
      const peer =
        to === undefined ? undefined : net.connect({ host: to.ip, port: to.port, allowHalfOpen: true, noDelay: true })
      this.#track(client, peer)
      if (peer === undefined) {
        client.resetAndDestroy()
        return
      }
      this.#track(peer, client)
      client.pipe(peer).pipe(client)
    })
  }

  #track(socket: net.Socket, other: net.Socket | undefined): void {
    this.#sockets.add(socket)
    socket.on("error", () => undefined)
    socket.once("close", (hadError) => {
      this.#sockets.delete(socket)
      // After an orderly end the other side may still have bytes to send.
      if (hadError || !socket.readableEnded) other?.destroy()
    })
  }

  /** Takes no new connections; existing connections go on. */
  stop(): void {
    this.server.close()
  }

  /** Stops, and ends all connections. */
  close(): void {
    this.stop()
    for (const socket of this.#sockets) socket.destroy()
  }
}
