/** `pause operator a`: stops processes as by SIGSTOP, until `resume` or `heal all`. */

import { onProcesses, someProcesses } from "../on-processes.ts"
import { nothingHappens } from "../scene.ts"
import type { Verb } from "../verb.ts"

export const pause: Verb = {
  name: "pause",
  usage: "pause operator|agent <cluster>",
  summary: "An operator, or all agents of a cluster, stop as by SIGSTOP.",
  kind: "act",
  read: onProcesses(({ all, cluster, each, what }, run) => {
    if (all.every(({ state }) => state !== "running")) return nothingHappens(run, `no ${what} of ${cluster} runs`)
    run.fault(`${what} pause`, what === "agent" ? `the agents of ${cluster} stop` : `the operator of ${cluster} stops`)
    for (const process of each) process.pause()
  }),
  random: { weight: 3, line: someProcesses("pause") }
}
