/** `start all`: sets which members a session needs before it is ready, before the story begins. */

import { Result } from "effect"
import type { Verb } from "../verb.ts"
import { nothingMore, oneOf } from "../words.ts"

export const start: Verb = {
  name: "start",
  usage: "start all|default",
  summary: "Which members a session needs before it is ready: all, or the default one.",
  kind: "setup",
  read: ([word, ...rest]) =>
    Result.gen(function* () {
      const sessionStart = yield* oneOf(word, ["all", "default"])
      yield* nothingMore(rest)
      return (plan) => {
        plan.sessionStart = sessionStart
      }
    })
}
