import { createServer } from "node:net"

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer().once("error", () => resolve(false))
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)))
  })

let drawn = 0

/**
 * Ports for programs that must be told theirs, each another one, free now and drawn once in this process. Below those
 * that Linux gives to outgoing connections (from 32768 on), so that none of these takes one before its program listens,
 * and where neither an embedded cluster nor a real one looks.
 */
export const freePorts = async (count: number): Promise<ReadonlyArray<number>> => {
  const ports: Array<number> = []
  while (ports.length < count) {
    // Test processes that run at the same time begin apart.
    const port = 26_000 + ((process.pid * 16 + drawn++) % 6_000)
    if (await isFree(port)) ports.push(port)
  }
  return ports
}
