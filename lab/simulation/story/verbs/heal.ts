/** `heal primary b`: undoes a cut of one link; `heal all` ends every fault. */

import { Result } from "effect"
import { aLink } from "../draws.ts"
import { withPlaces } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore } from "../words.ts"

export const heal: Verb = {
  name: "heal",
  usage: "heal <place> <place> | heal all",
  summary: "A link passes everything again; all: every fault ends.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      if (first === "all") {
        yield* nothingMore(second === undefined ? rest : [second, ...rest])
        return ({ world }) => world.heal()
      }
      const place = yield* nameWord(first, "a cluster's or session's name, or all")
      const other = yield* nameWord(second, "a cluster's or session's name")
      yield* nothingMore(rest)
      return (run) =>
        withPlaces(run, place, other, (from, to) => {
          run.world.network.heal(from, to)
          run.world.network.heal(to, from)
        })
    }),
  random: {
    weight: 6,
    line: (draw) => {
      const link = draw.random.chance(0.4) ? "all" : aLink(draw)
      return link === undefined ? undefined : `heal ${link}`
    }
  }
}
