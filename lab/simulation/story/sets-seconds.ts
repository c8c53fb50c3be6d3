/** The common form of setup verbs that set a duration of the operators, such as `ttl`. */

import { Result } from "effect"
import type { PlanDraft } from "./verb.ts"
import { nothingMore, wholeSeconds } from "./words.ts"

/** Reads the word `<duration>`, in whole seconds. */
export const setsSeconds =
  (set: (plan: PlanDraft, seconds: number) => void) =>
  ([word, ...rest]: ReadonlyArray<string>): Result.Result<(plan: PlanDraft) => void, string> =>
    Result.gen(function* () {
      const seconds = yield* wholeSeconds(word)
      yield* nothingMore(rest)
      return (plan) => set(plan, seconds)
    })
