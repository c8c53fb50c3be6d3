import * as net from "node:net"
import type { Endpoint } from "../network/endpoint.ts"

/**
 * A TCP server, still to be told where to listen, that passes each connection on to where `next` says; without that it
 * is reset.
 */
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

  /** Takes no further connections; those that exist go on. */
  stop(): void {
    this.server.close()
  }

  /** Ends it with all its connections. */
  close(): void {
    this.stop()
    for (const socket of this.#sockets) socket.destroy()
  }
}
