/**
 * `expect within 10s s1 serving`: fails the story unless something holds, now or within a time. The forms are in
 * `../expectations.ts`.
 */

import { Result } from "effect"
import { forms, sessionState } from "../expectations.ts"
import { nothingHappens } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { duration, nameWord } from "../words.ts"

const usages = Object.values(forms).map(({ usage }) => usage)

export const expect: Verb = {
  name: "expect",
  usage: `expect [within <duration>] <session> serving|waiting|ended [<words…>] | ${usages.join(" | ")}`,
  summary: "The story fails unless this holds: now, or within a time, which passes no longer than it must.",
  kind: "act",
  read: (words) =>
    Result.gen(function* () {
      const isTimed = words[0] === "within"
      const patience = isTimed ? yield* duration(words[1]) : 0
      const [first, ...rest] = words.slice(isTimed ? 2 : 0)
      const form = first === undefined ? undefined : forms[first]
      const expectation =
        form === undefined
          ? yield* sessionState(
              yield* nameWord(first, `a session's name or one of ${Object.keys(forms).join(", ")}`),
              rest
            )
          : yield* form.read(rest)
      const sentence = [first, ...rest].join(" ")
      return (run) => {
        const { world } = run
        if (expectation(world) === undefined)
          return nothingHappens(run, `${sentence}: a name of it is not in this story`)
        const holds = world.passUntil(() => expectation(world)?.holds === true, patience)
        run.pass(0)
        if (!holds) run.fail(`Expected: ${sentence}; but ${expectation(world)?.found ?? "it is gone"}.`)
      }
    })
}
