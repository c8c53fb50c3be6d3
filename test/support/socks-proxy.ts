/** A proxy for SOCKS 5 without a password, as far as RFC 1928 goes for TCP to named hosts. */

import { connect, createServer, type Server, type Socket } from "node:net"

/** The name and the port in a request of SOCKS 5; a request by address has `undefined`. */
const wantedBy = (request: Buffer): string | undefined => {
  const length = request[4] ?? 0
  return request[3] === 3 ? `${request.toString("utf8", 5, 5 + length)}:${request.readUInt16BE(5 + length)}` : undefined
}

/** `wanted`: takes what clients ask for. All that have a name are led to `port` of this machine. */
export const socksProxy = (port: number, wanted: (target: string | undefined) => void): Server =>
  createServer((socket: Socket) => {
    socket.on("error", () => undefined)
    socket.once("data", () => {
      socket.write(Uint8Array.of(5, 0))
      socket.once("data", (request) => {
        const target = wantedBy(request)
        wanted(target)
        if (target === undefined) return socket.end(Uint8Array.of(5, 4, 0, 1, 0, 0, 0, 0, 0, 0))
        const onwards = connect(port, "127.0.0.1", () => {
          socket.write(Uint8Array.of(5, 0, 0, 1, 0, 0, 0, 0, 0, 0))
          onwards.pipe(socket).pipe(onwards)
        })
        onwards.on("error", () => socket.destroy())
        socket.on("close", () => onwards.destroy())
        return undefined
      })
    })
  })
