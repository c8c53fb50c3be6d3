import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { chooseSessions } from "../../../src/domain/queues/chosen-session.ts"

const session = fc.record({
  id: fc.bigInt({ min: 0n, max: 3n }).map((low) => (1n << 63n) + low),
  startedAt: fc.integer({ min: 0, max: 2 }),
  mode: fc.constantFrom("steal" as const, "mirror" as const),
  wants: fc.boolean()
})
const sessions = fc.uniqueArray(session, { selector: ({ id }) => id })

describe("the sessions that get a message", () => {
  it("are the first that steals it, and all that mirror it, whatever order they are known in", () => {
    fc.assert(
      fc.property(
        sessions.chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length }))),
        ([list, shuffled]) => {
          const { mirrors, taker } = chooseSessions(list, ({ wants }) => wants)
          expect(chooseSessions(shuffled, ({ wants }) => wants)).toEqual({ mirrors, taker })
          const stealing = list.filter(({ mode, wants }) => wants && mode === "steal")
          const first = Math.min(...stealing.map(({ startedAt }) => startedAt))
          const ids = stealing.filter(({ startedAt }) => startedAt === first).map(({ id }) => id)
          expect(taker?.id).toBe(
            ids.reduce<bigint | undefined>((a, b) => (a !== undefined && a < b ? a : b), undefined)
          )
          expect(new Set(mirrors)).toEqual(new Set(list.filter(({ mode, wants }) => wants && mode === "mirror")))
        }
      )
    )
  })
})
