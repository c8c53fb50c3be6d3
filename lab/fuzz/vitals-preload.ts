/**
 * Lets the fuzzer look into an operator's process: what it holds, its memory, the connections that it has accepted.
 * Loaded before the program (`--import <this file>?socket=<path>`); each connection to that path gets one JSON text.
 * The program itself needs no change.
 */

import { subscribe } from "node:diagnostics_channel"
import { rmSync } from "node:fs"
import { createServer, type Socket } from "node:net"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { Effect } from "effect"
import { CurrentHoldings } from "../../src/app/kernel/holdings.ts"
import { hostileAddress, type Vitals } from "./vitals.ts"

const path = new URL(import.meta.url).searchParams.get("socket") ?? ""
const accepted = new Set<Socket>()

subscribe("net.server.socket", (message) => {
  const { socket } = message as { readonly socket: Socket }
  if (socket.remoteAddress !== hostileAddress) return
  accepted.add(socket)
  socket.once("close", () => accepted.delete(socket))
})

setFlagsFromString("--expose-gc")
const collectGarbage = runInNewContext("gc") as () => void

const vitals = (): Vitals => {
  collectGarbage()
  const { arrayBuffers, heapUsed } = process.memoryUsage()
  return {
    holdings: Object.fromEntries(Effect.runSync(CurrentHoldings).now()),
    memory: heapUsed + arrayBuffers,
    sockets: process.getActiveResourcesInfo().filter((kind) => kind === "TCPSocketWrap").length,
    hostile: accepted.size
  }
}

rmSync(path, { force: true })
createServer((socket) => {
  socket.on("error", () => socket.destroy())
  socket.end(JSON.stringify(vitals()))
})
  .listen(path)
  .unref()
