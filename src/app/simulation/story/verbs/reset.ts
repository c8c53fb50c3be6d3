import { Result } from "effect"
import { aLink } from "../draws.ts"
import { withLink } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore } from "../words.ts"

export const reset: Verb = {
  name: "reset",
  usage: "reset <place> <place>",
  summary: "All connections between two places break, and both ends are told.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const one = yield* nameWord(first, "a cluster's or session's name")
      const other = yield* nameWord(second, "a cluster's or session's name")
      yield* nothingMore(rest)
      return (run) =>
        withLink(run, one, other, (connections) => {
          run.fault("reset", `connections between ${one} and ${other} are reset`)
          for (const connection of connections) connection.reset()
        })
    }),
  random: {
    weight: 3,
    line: (draw) => {
      const link = aLink(draw)
      return link === undefined ? undefined : `reset ${link}`
    }
  }
}
