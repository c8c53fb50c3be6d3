/** `ping 30s`: sets the time between two pings of clients, before the story begins. */

import { Result } from "effect"
import type { Verb } from "../verb.ts"
import { duration, nothingMore } from "../words.ts"

export const ping: Verb = {
  name: "ping",
  usage: "ping <duration>",
  summary: "Time between two pings of a client.",
  kind: "setup",
  read: ([word, ...rest]) =>
    Result.gen(function* () {
      const ms = yield* duration(word)
      yield* nothingMore(rest)
      return ms > 0
        ? (plan) => {
            plan.pingInterval = ms
          }
        : yield* Result.fail("0 is no time between two pings: write 30s")
    })
}
