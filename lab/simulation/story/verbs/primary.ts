/** `primary hub`: names the primary cluster, before the story begins. */

import { Result } from "effect"
import type { Verb } from "../verb.ts"
import { exactly, nameWord, nothingMore } from "../words.ts"

export const primary: Verb = {
  name: "primary",
  usage: "primary <name> [too]",
  summary:
    "Names the primary; a cluster of its own that runs no workloads, unless it is among the clusters. too: it is a " +
    "second one, of the same clusters, where branches are ordered and no sessions begin.",
  kind: "setup",
  read: ([word, second, ...rest]) =>
    Result.gen(function* () {
      const name = yield* nameWord(word, "a cluster's name")
      if (second !== undefined) yield* exactly(second, "too")
      yield* nothingMore(rest)
      return (plan) => {
        if (second === undefined) plan.primary = name
        else plan.secondPrimary = name
      }
    })
}
