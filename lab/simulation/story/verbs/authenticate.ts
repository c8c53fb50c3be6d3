/** `authenticate b by eks for 10m`: a member knows the primary by other things than a token. */

import { Result } from "effect"
import { configuredAuths } from "../../world/member-plan.ts"
import type { Verb } from "../verb.ts"
import { duration, exactly, nameWord, nothingMore, oneOf } from "../words.ts"

export const authenticate: Verb = {
  name: "authenticate",
  usage: `authenticate <cluster> by ${configuredAuths.join("|")} for <duration>`,
  summary:
    "A configured member knows the primary by a client certificate in its Secret, which is replaced in time, or by " +
    "tokens that a cloud makes; each ends after so long.",
  kind: "setup",
  read: ([first, word, second, third, time, ...rest]) =>
    Result.gen(function* () {
      const cluster = yield* nameWord(first, "a cluster's name")
      yield* exactly(word, "by")
      const auth = yield* oneOf(second, configuredAuths)
      yield* exactly(third, "for")
      const lifetime = yield* duration(time)
      yield* nothingMore(rest)
      return (plan) => {
        plan.members = { ...plan.members, [cluster]: { _tag: "Configured", auth } }
        plan.tokens = { ...plan.tokens, [cluster]: { lifetime, longest: Infinity, skew: 0 } }
      }
    })
}
