/** A target on loopback for tests of incoming traffic. */

import * as net from "node:net"
import type { AgentTarget, RedirectedConnection } from "../../../lab/cluster/node/agent-target.ts"
import { listenLocally } from "../../support/listen-locally.ts"

/** The port of the target that tests redirect. */
export const targetPort = 8080
export const podIp = "127.0.0.1"

export interface LoopbackTarget {
  readonly target: AgentTarget
  /** The real port at which connections to {@link targetPort} enter. */
  readonly entry: number
  readonly redirected: () => boolean
  readonly close: () => void
}

/** Makes a target: `application` serves its port; redirected connections go to the agent instead. */
export const loopbackTarget = async (
  application: net.Server,
  given: {
    readonly root: string
    readonly env?: ReadonlyMap<string, string>
    readonly resolve?: AgentTarget["resolve"]
  }
): Promise<LoopbackTarget> => {
  const applicationPort = await listenLocally(application, podIp)
  let accept: ((connection: RedirectedConnection) => void) | undefined
  const sockets = new Set<net.Socket>()
  const connectToApplication = (): net.Socket => {
    const socket = net.connect({ port: applicationPort, host: podIp, allowHalfOpen: true })
    socket.on("error", () => undefined)
    return socket
  }
  const front = net.createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket)
    socket.on("error", () => undefined)
    if (accept === undefined) {
      const direct = connectToApplication()
      socket.pipe(direct)
      direct.pipe(socket)
      return
    }
    accept({
      socket,
      source: { ip: socket.remoteAddress ?? "", port: socket.remotePort ?? 0 },
      destination: { ip: podIp, port: targetPort },
      connectToApplication
    })
  })
  const entry = await listenLocally(front, podIp)
  return {
    target: {
      env: given.env ?? new Map(),
      root: given.root,
      podIp,
      resolve: given.resolve ?? (() => undefined),
      redirect: (port, taker) => {
        if (port !== targetPort) throw new Error(`port ${port} cannot be redirected`)
        if (accept !== undefined) throw new Error("already redirected")
        accept = taker
        return () => {
          accept = undefined
        }
      }
    },
    entry,
    redirected: () => accept !== undefined,
    close: () => {
      front.close()
      application.close()
      for (const socket of sockets) socket.destroy()
    }
  }
}
