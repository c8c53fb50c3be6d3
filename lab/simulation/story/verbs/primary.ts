/** `primary hub`: names the primary cluster, before the story begins. */

import { Result } from "effect"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore } from "../words.ts"

export const primary: Verb = {
  name: "primary",
  usage: "primary <name>",
  summary: "Names the primary; a cluster of its own that runs no workloads, unless it is among the clusters.",
  kind: "setup",
  read: ([word, ...rest]) =>
    Result.gen(function* () {
      const name = yield* nameWord(word, "a cluster's name")
      yield* nothingMore(rest)
      return (plan) => {
        plan.primary = name
      }
    })
}
