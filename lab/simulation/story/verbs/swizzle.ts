/** `swizzle 20s`: cuts all links of the primary in random order, and heals them in another order. */

import { Result } from "effect"
import type { Verb } from "../verb.ts"
import { duration, nothingMore } from "../words.ts"

export const swizzle: Verb = {
  name: "swizzle",
  usage: "swizzle [<duration>]",
  summary:
    "Cuts every link of the primary in random order, then heals them in another one; all within the time (20s), " +
    "which the story goes on in.",
  kind: "act",
  read: ([time, ...rest]) =>
    Result.gen(function* () {
      const ms = time === undefined ? 20_000 : yield* duration(time)
      yield* nothingMore(rest)
      return (run) => {
        const { world } = run
        const {
          clients,
          clusters,
          kernel,
          network,
          plan: { primary }
        } = world
        const others = [
          ...[...clusters.keys()].filter((name) => name !== primary),
          ...[...clients.values()].map(({ place }) => place)
        ]
        const random = kernel.random.split(`swizzle at ${world.now}`)
        const inTurn = (from: number, act: (place: string) => void): void => {
          const moments = others.map(() => from + random.int(0, Math.floor(ms / 2))).toSorted((a, b) => a - b)
          for (const [index, place] of random.shuffle(others).entries())
            world.faultIn(moments[index] ?? from, () => act(place))
        }
        run.fault("swizzle", `all links of ${primary} are cut and healed in random order within ${ms} ms`)
        inTurn(0, (place) => {
          network.cut(primary, place)
          network.cut(place, primary)
        })
        inTurn(Math.ceil(ms / 2), (place) => {
          network.heal(primary, place)
          network.heal(place, primary)
        })
      }
    }),
  random: { weight: 2, line: ({ random }) => `swizzle ${random.pick(["2s", "20s", "90s"])}` }
}
