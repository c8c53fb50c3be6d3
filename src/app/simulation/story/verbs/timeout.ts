import { Result } from "effect"
import type { Verb } from "../verb.ts"
import { nothingMore, wholeSeconds } from "../words.ts"

export const timeout: Verb = {
  name: "timeout",
  usage: "timeout <duration>",
  summary: "How long a session may take to become ready (remoteSessionTimeoutSecs).",
  kind: "setup",
  read: ([word, ...rest]) =>
    Result.gen(function* () {
      const seconds = yield* wholeSeconds(word)
      yield* nothingMore(rest)
      return (plan) => {
        plan.remoteSessionTimeoutSecs = seconds
      }
    })
}
