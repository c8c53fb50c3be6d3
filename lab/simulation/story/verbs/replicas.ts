/** `replicas a 2`: gives a cluster's operator replicas that elect a leader, before the story begins. */

import { Result } from "effect"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore, wholeNumber } from "../words.ts"

export const replicas: Verb = {
  name: "replicas",
  usage: "replicas <cluster> <n>",
  summary:
    "A cluster's operator has so many replicas, which elect a leader by a Lease. Without it there is one, and no " +
    "election.",
  kind: "setup",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const cluster = yield* nameWord(first, "a cluster's name")
      const count = yield* wholeNumber(second, "a number of replicas")
      if (count < 1) return yield* Result.fail(`${JSON.stringify(second)} is not a number of replicas: write 1 or more`)
      yield* nothingMore(rest)
      return (plan) => {
        plan.replicas = { ...plan.replicas, [cluster]: count }
      }
    })
}
