import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { whyUnusable } from "../../../src/domain/outbound/cell-tunnels.ts"
import { PlayedNetwork, type PlayedOutpost } from "./played-network.ts"

const second = 1_000

/** The faults, and the people's deeds, each at one outpost. */
const faults: Readonly<Record<string, (world: PlayedNetwork, outpost: PlayedOutpost) => void>> = {
  cut: (_, outpost) => (outpost.isCut = true),
  mend: (_, outpost) => (outpost.isCut = false),
  swallow: (world, outpost) => world.swallow(outpost, "cell", "outpost"),
  swallowBeats: (world, outpost) => world.swallow(outpost, "cell"),
  swallowAnswers: (world, outpost) => world.swallow(outpost, "outpost"),
  loseAnswer: (_, outpost) => (outpost.losesAnswer = true),
  close: (world, outpost) => world.reset(outpost),
  renew: (world, outpost) => world.renew(outpost),
  revoke: (world, outpost) => world.revoke(outpost),
  restart: (world, outpost) => world.restart(outpost, false),
  vanish: (world, outpost) => world.restart(outpost, true),
  restartCell: (world) => world.restartCell()
}
const step = fc.tuple(
  fc.constantFrom(...Object.keys(faults)),
  fc.nat(1),
  // Many happen while something is on its way.
  fc.oneof(fc.nat(400), fc.nat(20 * second), fc.constant(100 * second))
)

describe("tunnels of two outposts and a cell, whatever has happened", () => {
  // The network itself checks after each turn that both sides know what they have (T2), and who is revoked (T1).
  it.each([
    ["of two names are live within 45 s, and then at every moment", ["a", "b"], 2],
    ["of one name and two keys are those of one of them", ["a", "a"], 1]
  ] as const)("%s", (_, names, count) => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25, size: "max" }), fc.nat(), (steps, chance) => {
        const world = new PlayedNetwork(names, chance)
        for (const [fault, index, pause] of steps) {
          for (const outpost of world.outposts.slice(index, index + 1)) faults[fault]?.(world, outpost)
          world.advance(pause)
        }
        world.heal()
        const countServed = () => world.outposts.filter((outpost) => world.isServed(outpost)).length
        let since = world.elapsed
        /** Fails if too few are served for longer than that, ms. */
        const within = (bound: number) => () => {
          if (world.elapsed - since > bound) throw new Error(`too few are served for ${world.elapsed - since} ms`)
          since = countServed() >= count ? Infinity : Math.min(since, world.elapsed)
        }
        world.advance(45 * second, within(45 * second))
        // More than the life of a certificate: each is renewed, and nothing is missing meanwhile (T4, T7).
        world.advance(400 * second, () => {
          within(3 * 50)()
          for (const { name } of world.outposts) if (whyUnusable(world.cell, name, world)) throw new Error("unusable")
        })
        // T8
        for (const outpost of world.outposts) {
          outpost.isCut = chance % 2 === 0
          outpost.identity = undefined
          world.plan(outpost)
        }
        world.advance(100 * second)
        expect([world.wires, [...world.cell.byName]]).toEqual([[], []])
      }),
      { numRuns: 60 }
    )
  })
})
