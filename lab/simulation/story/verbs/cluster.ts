/** `cluster a default pods 2`: adds a workload cluster to the world before the story begins. */

import { Result } from "effect"
import type { Verb } from "../verb.ts"
import { nameWord, wholeNumber } from "../words.ts"

export const cluster: Verb = {
  name: "cluster",
  usage: "cluster <name> [default] [primary] [pods <n>]",
  summary: "A workload cluster; `pods 0`: it has no such target, `primary`: its operator is the primary too.",
  kind: "setup",
  read: (words) =>
    Result.gen(function* () {
      const [first, ...rest] = words
      const name = yield* nameWord(first, "a cluster's name")
      const left = [...rest]
      let pods = 1
      const flags = new Set<string>()
      for (let word = left.shift(); word !== undefined; word = left.shift()) {
        if (word === "pods") pods = yield* wholeNumber(left.shift(), "a number of pods")
        else if (word === "default" || word === "primary") flags.add(word)
        else return yield* Result.fail(`${JSON.stringify(word)} is none of default, primary, pods`)
      }
      return (plan) => {
        plan.clusters = [...plan.clusters, { name, pods }]
        if (flags.has("default")) plan.defaultCluster = name
        if (flags.has("primary")) plan.primary = name
      }
    })
}
