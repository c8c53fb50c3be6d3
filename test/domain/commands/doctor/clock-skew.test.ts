import fc from "fast-check"
import { expect, it } from "vitest"
import { certainSkew } from "../../../../src/domain/commands/doctor/clock-skew.ts"

it("is found where it is, and never overrated, however slow the network", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: -1e9, max: 1e9 }),
      fc.nat(1e6),
      fc.nat(1e6),
      fc.integer({ min: 1e12, max: 2e12 }),
      (skew, there, back, before) => {
        const server = Math.floor((before + there + skew) / 1000) * 1000
        const found = certainSkew({ server, before, after: before + there + back })
        expect(Math.abs(found)).toBeLessThanOrEqual(Math.abs(skew))
        expect(found * skew).toBeGreaterThanOrEqual(0)
        expect(Math.abs(skew - found)).toBeLessThanOrEqual(there + back + 1_000)
      }
    )
  )
})

it("is nothing for equal clocks", () => expect(certainSkew({ server: 5_000, before: 5_900, after: 5_950 })).toBe(0))
