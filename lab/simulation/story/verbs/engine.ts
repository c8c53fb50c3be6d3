/** `engine a fails`: what becomes of the pods of branches that are made from now on in a cluster. */

import { Result } from "effect"
import { branchFates } from "../../world/sim-branch-pods.ts"
import { withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore, oneOf } from "../words.ts"

export const engine: Verb = {
  name: "engine",
  usage: `engine <cluster> ${branchFates.join("|")}`,
  summary:
    "The pods of branches that are made from now on in a cluster cannot copy, have no image, are killed for their " +
    "memory, or are slow, until they work again or `heal all`.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const name = yield* nameWord(first, "a cluster's name")
      const fate = yield* oneOf(second, branchFates)
      yield* nothingMore(rest)
      return (run) =>
        withCluster(run, name, ({ kubelet }) => {
          if (fate !== "works") run.fault(`engine ${fate}`, `new pods of branches in ${name}: ${fate}`)
          kubelet.branches.fate = fate
        })
    }),
  random: {
    weight: 3,
    woven: "branches",
    line: ({ clusters, random }) => `engine ${random.pick(clusters)} ${random.pick(branchFates)}`
  }
}
