import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { renewalBurst, renewalEvery, renewalTurn } from "../../../../src/domain/fleet/credentials/renewal-pace.ts"

/** When each renewal begins, of those that are due at these times. */
const begun = (due: ReadonlyArray<number>): ReadonlyArray<number> => {
  let before: number | undefined
  return due.map((now) => {
    const { at, next } = renewalTurn(before, now)
    before = next
    return at
  })
}

describe("renewals", () => {
  it("are a burst and one in each stretch at most, in the order in which they are due", () => {
    const pauses = fc.array(fc.oneof(fc.constant(0), fc.nat(100), fc.nat(5_000)), { maxLength: 300 })
    fc.assert(
      fc.property(pauses, (given) => {
        let now = 0
        const times = begun(given.map((pause) => (now += pause)))
        expect(times).toEqual(times.toSorted((one, other) => one - other))
        for (const [index, from] of times.entries())
          for (const [more, to] of times.slice(index).entries())
            expect(more + 1).toBeLessThanOrEqual(renewalBurst + Math.ceil((to - from) / renewalEvery))
      }),
      { numRuns: 50 }
    )
  })

  it("wait for nothing while few are due", () => {
    const few = Array.from({ length: 200 }, (_, index) => index * renewalEvery)
    expect(begun(few)).toEqual(few)
    const together = Array.from({ length: renewalBurst }, () => 7)
    expect(begun(together)).toEqual(together)
  })

  it("of a thousand that are due at once have all begun 49 s later", () =>
    expect(begun(Array.from({ length: 1_000 }, () => 0)).at(-1)).toBe((1_000 - renewalBurst) * renewalEvery))
})
