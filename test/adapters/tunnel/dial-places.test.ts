import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { DialPlaces } from "../../../src/adapters/tunnel/dial-places.ts"

describe("places for connections that have proved nothing", () => {
  it("are bounded, at a time and by address and second", () => {
    const step = fc.record({
      address: fc.constantFrom("a", "b"),
      after: fc.constantFrom(0, 10, 500),
      leaves: fc.option(fc.tuple(fc.nat(5), fc.boolean()), { nil: undefined })
    })
    const bounds = { atOnce: 4, waiting: 2, perSecond: 3 }
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
        const places = new DialPlaces(bounds)
        const taken = new Array<{
          address: string
          second: number
          isOpen: boolean
          proved: boolean
          leave: (p: boolean) => void
        }>()
        const begun = new Array<number>()
        let now = 0
        for (const { address, after, leaves } of steps) {
          now += after
          const [back = taken.length, proved = false] = leaves ?? []
          const gone = taken.at(-1 - back)
          // Leaving twice is leaving once.
          gone?.leave(proved)
          if (gone?.isOpen === true) Object.assign(gone, { isOpen: false, proved })
          const second = Math.floor(now / 1_000)
          const open = taken.filter(({ isOpen }) => isOpen).length
          const recent = taken.filter((one) => one.address === address && one.second === second && !one.proved).length
          const number = taken.length
          const leave = places.take(address, now, () => begun.push(number))
          expect(leave !== undefined).toBe(open < bounds.atOnce + bounds.waiting && recent < bounds.perSecond)
          if (leave !== undefined) taken.push({ address, second, isOpen: true, proved: false, leave })
          const there = taken.filter(({ isOpen }) => isOpen).length
          expect(begun.filter((at) => taken[at]?.isOpen === true)).toHaveLength(Math.min(there, bounds.atOnce))
          expect(new Set(begun).size).toBe(begun.length)
        }
      })
    )
  })

  it("go to the address that has the fewest, and there to the first", () => {
    const places = new DialPlaces({ atOnce: 2, waiting: 9, perSecond: 9 })
    const begun = new Array<string>()
    const leave = ["a1", "a2", "a3", "a4", "b1", "b2"].map((name) =>
      places.take(name.charAt(0), 0, () => begun.push(name))
    )
    expect(begun).toEqual(["a1", "a2"])
    for (const end of [0, 1, 4]) leave[end]?.(false)
    expect(begun).toEqual(["a1", "a2", "b1", "a3", "b2"])
  })
})
