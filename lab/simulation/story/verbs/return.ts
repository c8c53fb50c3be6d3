/** `return operator a`: installs an operator again after `leave operator a`. */

import { Result } from "effect"
import { nothingHappens, withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { exactly, nameWord, nothingMore } from "../words.ts"

export const comeBack: Verb = {
  name: "return",
  usage: "return operator <cluster>",
  summary: "A cluster's operator is installed again.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      yield* exactly(first, "operator")
      const cluster = yield* nameWord(second, "a cluster's name")
      yield* nothingMore(rest)
      return (run) =>
        withCluster(run, cluster, ({ host }) => {
          if (host.isGone) host.comeBack()
          else nothingHappens(run, `the operator of ${cluster} is not gone`)
        })
    }),
  random: { weight: 1, line: ({ places, random }) => `return operator ${random.pick(places)}` }
}
