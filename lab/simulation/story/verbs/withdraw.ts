/** `withdraw b`: somebody deletes what a provider finds a member by. */

import { Result } from "effect"
import { aMember } from "../draws.ts"
import { nothingHappens } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore } from "../words.ts"

export const withdraw: Verb = {
  name: "withdraw",
  usage: "withdraw <cluster>",
  summary: "The object or file that a member is found by is deleted, until `provide`.",
  kind: "act",
  read: ([first, ...rest]) =>
    Result.gen(function* () {
      const member = yield* nameWord(first, "a cluster's name")
      yield* nothingMore(rest)
      return (run) => {
        const { authors } = run.world
        if (!authors.isProvided(member)) return nothingHappens(run, `no provider finds ${member}`)
        run.fault("cluster withdrawn", `what ${member} is found by is deleted`)
        return authors.withdraw(member)
      }
    }),
  random: { weight: 6, woven: "members", line: (draw) => aMember(draw, (member) => `withdraw ${member}`) }
}
