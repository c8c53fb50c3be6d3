/**
 * Doors between this machine's network and another one on it, each for one address: a process of ours there
 * (`door-keeper.ts`) and this one exchange the sockets that listen. Nothing else passes.
 */

import { spawn } from "node:child_process"
import { once } from "node:events"
import { createServer, type Server } from "node:net"
import { fileURLToPath } from "node:url"
import { reapWithUs } from "../cluster/node/reaper.ts"
import type { Destination, DoorAnswer, DoorWish } from "./door-keeper.ts"
import type { Command } from "./started-program.ts"

export interface Doors {
  /** Opens an address of this machine that leads to one of the network; port 0 is any. The result is the port. */
  readonly leadTo: (to: Destination, from: Destination) => Promise<number>
  /** Has a server of this process listen at an address of the network. */
  readonly listenAt: (at: Destination, server: Server) => Promise<void>
  /** Closes the doors that lead into the network. */
  readonly close: () => void
}

const keeper = fileURLToPath(new URL("door-keeper.ts", import.meta.url))
const dead = "the process that passes connections into another network has ended"

/** Starts the process in the network. `inNetwork`: a command that runs there. */
export const startDoors = (inNetwork: (command: Command) => Command): Doors => {
  const [file, ...args] = inNetwork([process.execPath, keeper])
  // In a process group of its own: after Ctrl-C the programs in the network still have to be reached.
  const child = spawn(file, args, { stdio: ["ignore", "inherit", "inherit", "ipc"], detached: true })
  const isGone = child.pid === undefined ? () => undefined : reapWithUs(child.pid)
  child.on("exit", isGone).on("error", isGone)
  const ended = once(child, "exit").then(() => Promise.reject(new Error(dead)))
  // Only those who wait for a door are to hear of it.
  ended.catch(() => undefined)
  // One after the other: an answer does not say of which wish it is.
  let last: Promise<unknown> = Promise.resolve()
  const ask = (wish: DoorWish, server?: Server): Promise<Server | undefined> => {
    const answered = last.then(async () => {
      const answer = Promise.race([once(child, "message"), ended])
      child.send(wish, server)
      const [{ problem }, opened]: [DoorAnswer, Server?] = (await answer) as [DoorAnswer, Server?]
      if (problem !== undefined) throw new Error(problem)
      return opened
    })
    last = answered.catch(() => undefined)
    return answered
  }
  return {
    leadTo: async (to, { host, port }) => {
      const server = createServer().listen(port, host)
      await once(server, "listening")
      const address = server.address()
      await ask({ _tag: "LeadTo", to }, server)
      server.close()
      return typeof address === "object" && address !== null ? address.port : port
    },
    listenAt: async (at, server) => {
      server.listen(await ask({ _tag: "ListenAt", at }))
    },
    close: () => void child.kill("SIGKILL")
  }
}
