/** Ports of 127.0.0.1 for programs that must be told theirs. */

import { once } from "node:events"
import { createServer, type ListenOptions, type Server } from "node:net"

/**
 * Below the ports that Linux gives to outgoing connections (from 32768 on), so that none of these takes a port between
 * two starts of its program.
 */
const [firstPort, lastPort] = [20_000, 32_000]

const listening = (at: ListenOptions): Promise<Server | undefined> =>
  new Promise((resolve) => {
    const server = createServer().once("error", () => resolve(undefined))
    server.listen(at, () => resolve(server))
  })

/**
 * Whether a port belongs to this process from now on. The sign of that is a socket whose name begins with a zero byte:
 * it is in no folder, and Linux drops it with the process. Other systems have no such names, and nothing reserved.
 */
const isReserved = async (port: number): Promise<boolean> => {
  if (process.platform !== "linux") return true
  const sign = await listening({ path: `\0braid-port-${port}` })
  sign?.unref()
  return sign !== undefined
}

const isFree = async (port: number): Promise<boolean> => {
  const server = await listening({ port, host: "127.0.0.1" })
  server?.close()
  if (server !== undefined) await once(server, "close")
  return server !== undefined
}

let drawn = 0

/**
 * Different ports, each free now, and given to no other caller of this function on this machine until this process
 * ends: also while a program is stopped, and started again at the same port.
 */
export const freePorts = async (count: number): Promise<ReadonlyArray<number>> => {
  const ports: Array<number> = []
  while (ports.length < count) {
    // Processes begin apart, since each asks for few.
    const port = firstPort + ((process.pid * 16 + drawn++) % (lastPort - firstPort))
    if ((await isReserved(port)) && (await isFree(port))) ports.push(port)
  }
  return ports
}

/** One of {@link freePorts}. */
export const freePort = async (): Promise<number> => {
  const [port = 0] = await freePorts(1)
  return port
}
