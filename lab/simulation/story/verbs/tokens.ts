/** `tokens b for 10m at most 20m clock +5m`: the tokens of a member end, before the story begins. */

import { Result } from "effect"
import type { TokenPlan } from "../../world/account-tokens.ts"
import type { Verb } from "../verb.ts"
import { duration, exactly, nameWord, oneOf } from "../words.ts"

/** Reads `+5m` or `-5m` as ms. */
const offset = (word: string | undefined): Result.Result<number, string> => {
  const sign = word?.startsWith("+") === true ? 1 : word?.startsWith("-") === true ? -1 : undefined
  return sign === undefined
    ? Result.fail(`${JSON.stringify(word ?? "")} is neither +<duration> nor -<duration>: write +5m`)
    : Result.map(duration(word?.slice(1)), (ms) => sign * ms)
}

export const tokens: Verb = {
  name: "tokens",
  usage: "tokens <cluster> for <duration> [at most <duration>] [clock +<duration>|-<duration>]",
  summary:
    "The token in a member's Secret is a service account's and ends after so long; the member grants others, for as " +
    "long as they are asked for, or at most so long, by a clock that may be wrong. Without it no token ends.",
  kind: "setup",
  read: ([first, word, time, ...rest]) =>
    Result.gen(function* () {
      const cluster = yield* nameWord(first, "a cluster's name")
      yield* exactly(word, "for")
      const lifetime = yield* duration(time)
      const left = [...rest]
      let planned: TokenPlan = { lifetime, longest: Infinity, skew: 0 }
      for (let next = left.shift(); next !== undefined; next = left.shift()) {
        if ((yield* oneOf(next, ["at", "clock"])) === "clock")
          planned = { ...planned, skew: yield* offset(left.shift()) }
        else {
          yield* exactly(left.shift(), "most")
          planned = { ...planned, longest: yield* duration(left.shift()) }
        }
      }
      return (plan) => {
        plan.tokens = { ...plan.tokens, [cluster]: planned }
      }
    })
}
