import { Result } from "effect"
import type { PlanDraft } from "./verb.ts"
import { nothingMore, wholeSeconds } from "./words.ts"

/** Words of verbs that set a duration of the operators: `<duration>`. */
export const setsSeconds =
  (set: (plan: PlanDraft, seconds: number) => void) =>
  ([word, ...rest]: ReadonlyArray<string>): Result.Result<(plan: PlanDraft) => void, string> =>
    Result.gen(function* () {
      const seconds = yield* wholeSeconds(word)
      yield* nothingMore(rest)
      return (plan) => set(plan, seconds)
    })
