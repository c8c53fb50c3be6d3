/** `sharding`: the replicas of the primary share the members among them, before the story begins. */

import { Result } from "effect"
import type { Verb } from "../verb.ts"
import { nothingMore } from "../words.ts"

export const sharding: Verb = {
  name: "sharding",
  usage: "sharding",
  summary: "The primary's replicas share the members among them. Without it the leader watches all members itself.",
  kind: "setup",
  read: (words) =>
    Result.gen(function* () {
      yield* nothingMore(words)
      return (plan) => {
        plan.sharding = true
      }
    })
}
