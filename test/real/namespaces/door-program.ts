/**
 * The door of the node's network namespace: a program inside of it that dials for programs outside. It listens on a
 * unix socket; the first line of a connection is `ADDRESS PORT`, all other bytes are the dialled connection's.
 */

import * as net from "node:net"
import { join } from "../../../lab/agent/incoming/raw-traffic.ts"

const [path = ""] = process.argv.slice(2)
const newline = 10

const server = net.createServer({ allowHalfOpen: true }, (socket) => {
  let head = Buffer.alloc(0)
  socket.on("error", () => undefined)
  const onData = (bytes: Buffer): void => {
    head = Buffer.concat([head, bytes])
    const end = head.indexOf(newline)
    if (end < 0) return
    socket.off("data", onData)
    socket.pause()
    const [host, port] = head.subarray(0, end).toString().split(" ")
    const peer = net.connect({ host: host ?? "", port: Number(port), allowHalfOpen: true, noDelay: true })
    if (head.length > end + 1) socket.unshift(head.subarray(end + 1))
    join(socket, peer)
  }
  socket.on("data", onData)
})
server.listen(path, () => process.stdout.write("open\n"))
