/** mirrord's own agent as a process of this machine, without a network of its own. */

import * as net from "node:net"
import { Effect } from "effect"
import { join } from "../../lab/agent/incoming/raw-traffic.ts"
import { type ContainerProgram, signalsReady } from "../../lab/cluster/node/container-program.ts"
import { processProgram } from "../../lab/cluster/node/process-program.ts"
import { freePort } from "../support/free-port.ts"

/**
 * The operator draws the agent's port for a pod, all of whose ports are free. At the machine's addresses, to all of
 * which the agent listens, an outgoing connection of another program may have that port. So the agent has one of its
 * own, and the kubelet listens at the pod's address and passes each connection on.
 */
export const agentOnMachine = (agent: string): ContainerProgram =>
  signalsReady((container) => {
    const { args } = container
    const flag = args.indexOf("-l")
    const listens = Promise.withResolvers<void>()
    const run = (own: number) => {
      const program = processProgram({
        command: () => [agent, ...args.slice(1, flag + 1), String(own), ...args.slice(flag + 2)],
        readyWhen: (line) => {
          const isReady = line.startsWith("agent ready")
          if (isReady) listens.resolve()
          return isReady
        }
      })
      // Connections that come before the agent listens wait.
      const admitted = container.listen(Number(args[flag + 1]), (socket) => {
        socket.on("error", () => undefined)
        const dial = () => net.connect({ port: own, allowHalfOpen: true, noDelay: true })
        void listens.promise.then(() => join(socket, dial()))
      })
      return Effect.andThen(admitted, program(container))
    }
    return Effect.promise(freePort).pipe(
      Effect.flatMap(run),
      Effect.catch(({ message }) =>
        Effect.sync(() => {
          container.log(message)
          return 1
        })
      )
    )
  })
