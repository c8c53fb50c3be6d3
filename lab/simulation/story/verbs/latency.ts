/** `latency primary b 20ms 80ms`: sets how long packets take between two places. Bandwidth is `slow`. */

import { Result } from "effect"
import { aLink } from "../draws.ts"
import { withPlaces } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore, span } from "../words.ts"

export const latency: Verb = {
  name: "latency",
  usage: "latency <place> <place> <least> <most>",
  summary: "How long a packet takes between two places, such as `latency primary b 20ms 80ms`.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      const place = yield* nameWord(first, "a cluster's or session's name")
      const other = yield* nameWord(second, "a cluster's or session's name")
      const [least, most] = yield* span(rest[0], rest[1])
      yield* nothingMore(rest.slice(2))
      return (run) =>
        withPlaces(run, place, other, (from, to) => {
          run.fault("latency", `packets between ${place} and ${other} take ${least} to ${most} ms`)
          run.world.network.setLatency(from, to, least, most)
          run.world.network.setLatency(to, from, least, most)
        })
    }),
  random: {
    weight: 2,
    line: (draw) => {
      const link = aLink(draw)
      return link === undefined
        ? undefined
        : `latency ${link} ${draw.random.pick(["0ms 0ms", "20ms 80ms", "150ms 400ms", "2s 9s"])}`
    }
  }
}
