/** mirrord's own agent as a process of this machine, without a network of its own. */

import { createServer } from "node:net"
import { Effect } from "effect"
import type { ContainerProgram } from "../../lab/cluster/node/container-program.ts"
import { processProgram } from "../../lab/cluster/node/process-program.ts"
import { until } from "../support/until.ts"

const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer().once("error", () => resolve(false))
    server.listen(port, "0.0.0.0", () => server.close(() => resolve(true)))
  })

/**
 * The operator draws the port, for a pod whose ports are all free. The agent listens to it at every address of the
 * machine, where an outgoing connection of another program may have it: the agent starts when that has ended.
 */
export const agentOnMachine = (agent: string): ContainerProgram => {
  const program = processProgram({ command: ({ args }) => [agent, ...args.slice(1)] })
  return (container) => {
    const port = Number(container.args[container.args.indexOf("-l") + 1])
    const free = () => until(`port ${port} is free here`, async () => ((await isFree(port)) ? true : undefined))
    return Effect.andThen(Effect.promise(free), program(container))
  }
}
