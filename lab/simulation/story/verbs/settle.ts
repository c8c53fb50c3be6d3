/** `settle`: ends all faults in the middle of a story and checks what must hold at rest. */

import { Result } from "effect"
import type { Verb } from "../verb.ts"
import { nothingMore } from "../words.ts"

export const settle: Verb = {
  name: "settle",
  usage: "settle",
  summary: "All faults end, time passes until everything is well again, and what must hold then is checked.",
  kind: "act",
  read: (words) =>
    Result.gen(function* () {
      yield* nothingMore(words)
      return (run) => run.settle()
    }),
  random: { weight: 1, line: () => "settle" }
}
