import { Result } from "effect"
import { nothingHappens, withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore, oneOf } from "../words.ts"

export const pause: Verb = {
  name: "pause",
  usage: "pause operator|agent <cluster>",
  summary: "An operator, or all agents of a cluster, stop as by SIGSTOP.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const what = yield* oneOf(first, ["operator", "agent"])
      const cluster = yield* nameWord(second, "a cluster's name")
      yield* nothingMore(rest)
      return (run) =>
        withCluster(run, cluster, ({ host, kubelet }) => {
          const processes = what === "agent" ? kubelet.agents.map(({ process }) => process) : host.process === undefined ? [] : [host.process]
          if (processes.every(({ state }) => state !== "running")) return nothingHappens(run, `no ${what} of ${cluster} runs`)
          run.fault(`${what} pause`, what === "agent" ? `the agents of ${cluster} stop` : `the operator of ${cluster} stops`)
          if (what === "operator") host.pause()
          else for (const process of processes) process.pause()
        })
    }),
  random: {
    weight: 3,
    line: ({ clusters, places, random }) => (random.chance(0.6) ? `pause operator ${random.pick(places)}` : `pause agent ${random.pick(clusters)}`)
  }
}
