/** `images a missing`: nodes of a cluster cannot pull the agent's image, so new agents do not start. */

import { Result } from "effect"
import { withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore, oneOf } from "../words.ts"

export const images: Verb = {
  name: "images",
  usage: "images <cluster> missing|back",
  summary: "Whether the nodes of a cluster can pull the agent's image.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const cluster = yield* nameWord(first, "a cluster's name")
      const state = yield* oneOf(second, ["missing", "back"])
      yield* nothingMore(rest)
      return (run) =>
        withCluster(run, cluster, ({ kubelet }) => {
          if (state === "missing") run.fault("image missing", `${cluster} cannot pull the agent's image`)
          kubelet.pullProblem = state === "missing" ? "manifest for agent:1 not found" : undefined
        })
    }),
  random: {
    weight: 2,
    line: ({ clusters, random }) => `images ${random.pick(clusters)} ${random.pick(["missing", "back"])}`
  }
}
