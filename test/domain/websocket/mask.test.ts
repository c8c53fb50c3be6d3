import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { mask, turned } from "../../../src/domain/websocket/mask.ts"

const keyByte = (key: number, at: number): number => (key >>> ((at & 3) * 8)) & 255

describe("a mask", () => {
  it("is XOR with four bytes that repeat, at any place and length, and touches nothing else", () => {
    const bytes = fc.uint8Array({ minLength: 0, maxLength: 300 })
    fc.assert(
      fc.property(bytes, fc.nat(7), fc.nat(300), fc.nat(300), fc.integer(), (given, offset, a, b, key) => {
        const from = Math.min(a, b, given.length)
        const until = Math.min(Math.max(a, b), given.length)
        const memory = new Uint8Array(given.length + offset + 8)
        const masked = memory.subarray(offset, offset + given.length)
        masked.set(given)
        mask(masked, from, until, key)
        const expected = given.map((byte, at) => (at < from || at >= until ? byte : byte ^ keyByte(key, at - from)))
        expect([...masked]).toEqual([...expected])
        expect([...memory.subarray(offset + given.length)]).toEqual(Array.from({ length: 8 }, () => 0))
      })
    )
  })

  it("turned, begins at a later byte", () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer({ min: -40, max: 40 }), fc.nat(9), (key, by, at) => {
        expect(keyByte(turned(key, by), at)).toBe(keyByte(key, at + by))
      })
    )
  })
})
