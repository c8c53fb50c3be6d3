/** `maker b hangs`: the cloud or the plugin that makes the credentials for a member goes wrong. */

import { Result } from "effect"
import { makerModes } from "../../world/credential-makers.ts"
import { isMade } from "../../world/member-plan.ts"
import { aMember } from "../draws.ts"
import { nothingHappens } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore, oneOf } from "../words.ts"

export const maker: Verb = {
  name: "maker",
  usage: `maker <cluster> ${makerModes.join("|")}`,
  summary:
    "The cloud or the plugin that makes the credentials for a member fails, does not answer in its time, is slow, or " +
    "says what nobody understands, until it works again or `heal all`.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const member = yield* nameWord(first, "a cluster's name")
      const mode = yield* oneOf(second, makerModes)
      yield* nothingMore(rest)
      return (run) => {
        const plan = run.world.plan.members[member]
        if (plan === undefined || !isMade(plan)) return nothingHappens(run, `nobody makes credentials for ${member}`)
        run.fault(`maker ${mode}`, `the maker of the credentials for ${member}: ${mode}`)
        run.world.makers.set(member, mode)
      }
    }),
  random: {
    weight: 8,
    woven: "members",
    line: (draw) => aMember(draw, (member) => `maker ${member} ${draw.random.pick(makerModes)}`)
  }
}
