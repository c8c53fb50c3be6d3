/**
 * Connections past the API server, in a thread of their own: the clients' side of their handshakes must not hold up the
 * pings by which the test judges the operator. Tells how many are still open when it is asked, and ends.
 */

import { once } from "node:events"
import { connect } from "node:tls"
import { parentPort, workerData } from "node:worker_threads"
import type { Strangers } from "./attacks.ts"

const { count, host, port, text } = workerData as Strangers

const stranger = async () => {
  const socket = connect({ host, port, rejectUnauthorized: false })
  socket.on("error", () => socket.destroy())
  // The oldest of too many are cut, some of them in their handshake.
  await Promise.race([once(socket, "secureConnect"), once(socket, "close")]).catch(() => undefined)
  if (!socket.destroyed) socket.write(text)
  return socket
}

const sockets = await Promise.all(Array.from({ length: count }, stranger))
parentPort?.postMessage("connected")
parentPort?.once("message", () => {
  parentPort?.postMessage(sockets.filter(({ destroyed }) => !destroyed).length)
  for (const socket of sockets) socket.destroy()
})
