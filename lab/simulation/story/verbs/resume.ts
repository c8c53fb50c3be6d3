/** `resume operator a`: ends what `pause operator a` began. */

import { onProcesses, someProcesses } from "../on-processes.ts"
import { nothingHappens } from "../scene.ts"
import type { Verb } from "../verb.ts"

export const resume: Verb = {
  name: "resume",
  usage: "resume operator|agent <cluster>",
  summary: "An operator, or all agents of a cluster, go on.",
  kind: "act",
  read: onProcesses(({ all, cluster, each, what }, run) => {
    if (all.every(({ state }) => state !== "paused")) return nothingHappens(run, `no ${what} of ${cluster} is paused`)
    for (const process of each) process.resume()
  }),
  random: { weight: 2, line: someProcesses("resume") }
}
