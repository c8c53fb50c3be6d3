import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { DialPlaces } from "../../../src/adapters/tunnel/dial-places.ts"

describe("places for connections that have proved nothing", () => {
  it("are bounded, at a time and by address and second, and go to those who came first", () => {
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
          // Those that have come first and are still there have the places.
          const there = taken.flatMap(({ isOpen }, at) => (isOpen ? [at] : []))
          const having = begun.filter((at) => taken[at]?.isOpen === true)
          expect(having).toEqual(there.slice(0, bounds.atOnce))
          expect(new Set(begun).size).toBe(begun.length)
        }
      })
    )
  })
})
