import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { Kept } from "../../../src/adapters/stream/kept.ts"

const all = ({ bytes, length, pieces }: Kept): Buffer => Buffer.concat([bytes, ...pieces]).subarray(0, length)

describe("bytes that are kept", () => {
  it("are those that came, however they came, and no more than were awaited", () => {
    const sizes = fc.array(fc.constantFrom(1, 100, 4_095, 4_096, 10_000, 65_536), { minLength: 1, maxLength: 20 })
    fc.assert(
      fc.property(sizes, fc.nat(3), fc.nat(200), (lengths, extra, from) => {
        const kept = new Kept()
        const total = lengths.reduce((sum, length) => sum + length, 0)
        const wire = Buffer.alloc(total + extra, Buffer.from([1, 2, 3, 4, 5, 6, 7]))
        kept.expect(total)
        let done = 0
        for (const [index, length] of lengths.entries()) {
          expect(kept.isWhole).toBe(false)
          const rest = index === lengths.length - 1 ? length + extra : length
          const chunk = Buffer.concat([Buffer.alloc(from), wire.subarray(done, done + rest)])
          expect(kept.fill(chunk, from)).toBe(from + length)
          done += length
          expect(kept.length).toBe(done)
        }
        expect(kept.isWhole).toBe(true)
        expect(Buffer.compare(all(kept), wire.subarray(0, total))).toBe(0)
        kept.clear()
        expect([kept.isEmpty, kept.length, kept.pieces.length]).toEqual([true, 0, 0])
      })
    )
  })

  it("may turn out to be more than they seemed: a header, then its frame", () => {
    const kept = new Kept()
    kept.expect(2)
    kept.fill(Buffer.from([1]), 0)
    expect(kept.fill(Buffer.from([2, 3]), 0)).toBe(1)
    expect(kept.isWhole).toBe(true)
    kept.expect(10_002)
    kept.fill(Buffer.alloc(10_000, 3), 0)
    expect([kept.isWhole, all(kept).length, all(kept)[1], all(kept)[10_001]]).toEqual([true, 10_002, 2, 3])
  })

  it("that trickle in, are in one buffer, not in many pieces", () => {
    const kept = new Kept()
    kept.expect(1_000_000)
    kept.fill(Buffer.alloc(65_536, 1), 0)
    for (let i = 0; i < 10_000; i++) kept.fill(Buffer.from([2]), 0)
    expect(kept.pieces).toHaveLength(0)
    expect(kept.length).toBe(75_536)
    expect(kept.bytes.length).toBeLessThanOrEqual(2 * 131_072)
  })
})
