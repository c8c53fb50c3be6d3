import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { heal, perform, step } from "./split-steps.ts"
import { SplitWorld } from "./split-world.ts"

const fate = fc.constantFrom(
  "do" as const,
  "do" as const,
  "do" as const,
  "lose" as const,
  "repeat" as const,
  "crash" as const
)

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

describe("splitPlan: properties", () => {
  // The world itself checks each action: Q5, Q6, Q8, Q9, Q10, Q11, one write per plan, a look in the future.
  it("is safe whatever is lost, and nothing is left of a split without sessions", () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(step, fc.array(fate, { maxLength: 8 })), { maxLength: 30, size: "max" }),
        fc.nat(2),
        fc.boolean(),
        (steps, sessions, isDrainDenied) => {
          const world = new SplitWorld()
          for (let tag = 0; tag < sessions; tag++) world.ready(tag)
          for (const [one, fates] of steps) {
            perform(world, one)
            // The same observation gives the same plan.
            expect(world.plan()).toEqual(world.plan())
            const rest = fates[Symbol.iterator]()
            for (let turn = 0; turn < 2; turn++) world.turn(() => rest.next().value ?? "do")
            world.now++
            world.tick()
            expect(world.accounted()).toEqual(numbers(world.produced))
          }
          // Q7, Q16, Q17: once faults stop.
          heal(world)
          if (isDrainDenied) world.denied.add("DrainQueue")
          for (const { uid } of world.sessions) world.vanish(uid)
          world.advance(3 * 86_400_000)
          expect(world.record).toBeUndefined()
          expect([...world.records.keys(), ...world.broker.keys(), ...world.drains.keys()]).toEqual([])
          expect([world.webhook, world.pods.filter(({ patchedBy }) => patchedBy !== undefined)]).toEqual([
            undefined,
            []
          ])
          expect(world.accounted()).toEqual(numbers(world.produced))
        }
      ),
      { numRuns: 200 }
    )
  })
})
