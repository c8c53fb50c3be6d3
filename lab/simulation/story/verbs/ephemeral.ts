/** `ephemeral a`: the agents of a cluster are ephemeral containers, before the story begins. */

import { Result } from "effect"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore } from "../words.ts"

export const ephemeral: Verb = {
  name: "ephemeral",
  usage: "ephemeral <cluster>",
  summary:
    "A cluster's agents are ephemeral containers of the targets' pods, which nobody can remove. Without it they are " +
    "Jobs.",
  kind: "setup",
  read: ([first, ...rest]) =>
    Result.gen(function* () {
      const cluster = yield* nameWord(first, "a cluster's name")
      yield* nothingMore(rest)
      return (plan) => {
        plan.ephemeralAgents = [...plan.ephemeralAgents, cluster]
      }
    })
}
