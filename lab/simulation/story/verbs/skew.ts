/** `skew operator a +10m`: sets the clock of an operator's machine wrong. */

import { Result } from "effect"
import { withCluster } from "../scene.ts"
import type { Verb } from "../verb.ts"
import { duration, exactly, nameWord, nothingMore } from "../words.ts"

export const skew: Verb = {
  name: "skew",
  usage: "skew operator <cluster> +<duration>|-<duration>",
  summary: "The clock of an operator's host is ahead, or behind, by so much; kept over restarts.",
  kind: "act",
  read: ([first, second, third, ...rest]) =>
    Result.gen(function* () {
      yield* exactly(first, "operator")
      const cluster = yield* nameWord(second, "a cluster's name")
      const sign = third?.startsWith("+") === true ? 1 : third?.startsWith("-") === true ? -1 : undefined
      if (sign === undefined)
        return yield* Result.fail(`${JSON.stringify(third ?? "")} is neither +<duration> nor -<duration>: write +10m`)
      const ms = sign * (yield* duration(third?.slice(1)))
      yield* nothingMore(rest)
      return (run) =>
        withCluster(run, cluster, ({ host }) => {
          run.fault(
            "clock skew",
            `the clock of the operator of ${cluster} is ${Math.abs(ms)} ms ${ms < 0 ? "behind" : "ahead"}`
          )
          host.setSkew(ms)
        })
    }),
  random: {
    weight: 2,
    line: ({ places, random }) =>
      `skew operator ${random.pick(places)} ${random.pick(["+", "-"])}${random.pick(["2s", "70s", "10m"])}`
  }
}
