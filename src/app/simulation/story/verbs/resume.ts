import { Result } from "effect"
import { nothingHappens, withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore, oneOf } from "../words.ts"

export const resume: Verb = {
  name: "resume",
  usage: "resume operator|agent <cluster>",
  summary: "An operator, or all agents of a cluster, go on.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const what = yield* oneOf(first, ["operator", "agent"])
      const cluster = yield* nameWord(second, "a cluster's name")
      yield* nothingMore(rest)
      return (run) =>
        withCluster(run, cluster, ({ host, kubelet }) => {
          const processes = what === "agent" ? kubelet.agents.map(({ process }) => process) : host.process === undefined ? [] : [host.process]
          if (processes.every(({ state }) => state !== "paused")) return nothingHappens(run, `no ${what} of ${cluster} is paused`)
          if (what === "operator") host.resume()
          else for (const process of processes) process.resume()
        })
    }),
  random: {
    weight: 2,
    line: ({ clusters, places, random }) => (random.chance(0.6) ? `resume operator ${random.pick(places)}` : `resume agent ${random.pick(clusters)}`)
  }
}
