/** `tick 3s`: lets virtual time pass. Other acts take none, unless they wait for something. */

import { Result } from "effect"
import type { Verb } from "../verb.ts"
import { duration, nothingMore } from "../words.ts"

export const tick: Verb = {
  name: "tick",
  usage: "tick <duration>",
  summary: "Lets time pass.",
  kind: "act",
  read: ([time, ...rest]) =>
    Result.gen(function* () {
      const ms = yield* duration(time)
      yield* nothingMore(rest)
      return ({ pass }) => pass(ms)
    }),
  random: {
    weight: 20,
    line: ({ random }) => `tick ${random.pick(["50ms", "200ms", "1s", "3s", "7s", "15s", "35s", "70s"])}`
  }
}
