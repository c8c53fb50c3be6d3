/**
 * `cut primary b one-way`: nothing passes any more, and connections stay open. `reset` breaks connections, `silence`
 * kills them unnoticed.
 */

import { Result } from "effect"
import { aLink } from "../draws.ts"
import { withPlaces } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore, oneOf } from "../words.ts"

export const cut: Verb = {
  name: "cut",
  usage: "cut <place> <place> [one-way]",
  summary: "Nothing passes between two places any more; one-way: not from the first to the second.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const place = yield* nameWord(first, "a cluster's or session's name")
      const other = yield* nameWord(second, "a cluster's or session's name")
      const direction = rest[0] === undefined ? "both ways" : yield* oneOf(rest[0], ["one-way"])
      yield* nothingMore(rest.slice(1))
      return (run) =>
        withPlaces(run, place, other, (from, to) => {
          run.fault(
            "cut",
            direction === "one-way"
              ? `nothing passes from ${place} to ${other}`
              : `nothing passes between ${place} and ${other}`
          )
          run.world.network.cut(from, to)
          if (direction === "both ways") run.world.network.cut(to, from)
        })
    }),
  random: {
    weight: 6,
    line: (draw) => {
      const link = aLink(draw)
      return link === undefined ? undefined : `cut ${link}${draw.random.chance(0.3) ? " one-way" : ""}`
    }
  }
}
