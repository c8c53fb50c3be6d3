/** `rotate b`: other credentials take the place of those that somebody keeps for a member. */

import { Result } from "effect"
import { aMember } from "../draws.ts"
import { nothingHappens } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore, oneOf } from "../words.ts"

export const rotate: Verb = {
  name: "rotate",
  usage: "rotate <cluster> [wrong]",
  summary:
    "Another client certificate is in the Secret of a member, or another kubeconfig where it is found; wrong: one " +
    "that nobody can use, until the next or `heal all`.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const member = yield* nameWord(first, "a cluster's name")
      const isWrong = second !== undefined && (yield* oneOf(second, ["wrong"])) === "wrong"
      yield* nothingMore(rest)
      return (run) => {
        const { authors } = run.world
        if (!authors.writes(member)) return nothingHappens(run, `nobody writes credentials for ${member}`)
        const what = isWrong ? "unusable credentials are there" : "other credentials are there"
        run.fault(isWrong ? "credentials spoilt" : "credentials rotated", `${what} for ${member}`)
        return isWrong ? authors.spoil(member) : authors.rotate(member)
      }
    }),
  random: {
    weight: 10,
    woven: "members",
    line: (draw) => aMember(draw, (member) => `rotate ${member}${draw.random.chance(0.3) ? " wrong" : ""}`)
  }
}
