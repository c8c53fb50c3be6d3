/** `slow primary b 16`: limits a link's bandwidth; `slow agents a 1s 3s` makes agents think before each answer. */

import { Result } from "effect"
import { aLink } from "../draws.ts"
import { withCluster, withPlaces } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { nameWord, nothingMore, span, wholeNumber } from "../words.ts"

export const slow: Verb = {
  name: "slow",
  usage: "slow <place> <place> <KiB/s> | slow agents <cluster> <least> <most>",
  summary: "A link passes so many KiB per second; or a cluster's agents think so long before each answer.",
  kind: "act",
  read: ([first, second, ...rest]) =>
    Result.gen(function* () {
      if (first === "agents") {
        const cluster = yield* nameWord(second, "a cluster's name")
        const delay = yield* span(rest[0], rest[1])
        yield* nothingMore(rest.slice(2))
        return (run) =>
          withCluster(run, cluster, ({ kubelet }) => {
            run.fault("slow agents", `agents of ${cluster} think ${delay[0]} to ${delay[1]} ms before an answer`)
            kubelet.agentDelay = delay
          })
      }
      const place = yield* nameWord(first, "a cluster's or session's name, or agents")
      const other = yield* nameWord(second, "a cluster's or session's name")
      const speed = yield* wholeNumber(rest[0], "a number of KiB per second")
      yield* nothingMore(rest.slice(1))
      if (speed === 0) return yield* Result.fail("0 KiB/s is no link: write `cut`, or 1 and more")
      return (run) =>
        withPlaces(run, place, other, (from, to) => {
          run.fault("slow link", `${speed} KiB/s pass between ${place} and ${other}`)
          run.world.network.setBandwidth(from, to, (speed * 1024) / 1000)
          run.world.network.setBandwidth(to, from, (speed * 1024) / 1000)
        })
    }),
  random: {
    weight: 3,
    line: (draw) => {
      const { clusters, random } = draw
      if (random.chance(0.5))
        return `slow agents ${random.pick(clusters)} ${random.pick(["100ms 900ms", "1s 3s", "5s 20s"])}`
      const link = aLink(draw)
      return link === undefined ? undefined : `slow ${link} ${random.pick([2, 16, 64])}`
    }
  }
}
