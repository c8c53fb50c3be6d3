/**
 * A process in the network of a world that connects ports of the machine with addresses there: a listening socket stays
 * in the network in which it was opened, whoever accepts from it. Started by `node-world.ts`, which sends the sockets.
 */

import { connect, type Server, type Socket } from "node:net"

/** The address in the world that a listening socket leads to. */
export interface Destination {
  readonly host: string
  readonly port: number
}

const forward = ({ host, port }: Destination, from: Socket): void => {
  const to = connect({ host, port, allowHalfOpen: true })
  for (const socket of [from, to]) {
    socket.setNoDelay(true)
    socket.on("error", () => {
      from.destroy()
      to.destroy()
    })
  }
  from.on("close", () => to.destroy())
  to.on("close", () => from.destroy())
  from.pipe(to)
  to.pipe(from)
}

process.on("message", (destination: Destination, server: Server & { allowHalfOpen?: boolean }) => {
  server.allowHalfOpen = true
  server.on("connection", (socket) => forward(destination, socket))
  process.send?.(destination)
})
process.on("disconnect", () => process.exit(0))
