import { Result } from "effect"
import type { Verb } from "../verb.ts"
import { nothingMore, wholeSeconds } from "../words.ts"

export const ttl: Verb = {
  name: "ttl",
  usage: "ttl <duration>",
  summary: "How long a session outlives its last heartbeat (sessionTtlSecs).",
  kind: "setup",
  read: ([word, ...rest]) =>
    Result.gen(function* () {
      const seconds = yield* wholeSeconds(word)
      yield* nothingMore(rest)
      return (plan) => {
        plan.sessionTtlSecs = seconds
      }
    })
}
