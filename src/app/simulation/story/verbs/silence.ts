import { Result } from "effect"
import { aLink } from "../draws.ts"
import { withLink } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore } from "../words.ts"

export const silence: Verb = {
  name: "silence",
  usage: "silence <place> <place>",
  summary: "All connections between two places go dead, and nobody is told (half-open).",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const one = yield* nameWord(first, "a cluster's or session's name")
      const other = yield* nameWord(second, "a cluster's or session's name")
      yield* nothingMore(rest)
      return (run) =>
        withLink(run, one, other, (connections) => {
          run.fault("half-open", `connections between ${one} and ${other} go dead in silence`)
          for (const connection of connections) connection.goSilent()
        })
    }),
  random: {
    weight: 3,
    line: (draw) => {
      const link = aLink(draw)
      return link === undefined ? undefined : `silence ${link}`
    }
  }
}
