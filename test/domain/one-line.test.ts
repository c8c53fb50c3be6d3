import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { oneLine } from "../../src/domain/one-line.ts"

const nasty = fc.string({
  unit: fc.oneof(
    fc.constantFrom(
      "\n",
      "\r",
      "\u0000",
      "\u001b",
      "\u0085",
      "\u2028",
      "\u202e",
      "\ufeff",
      "\ud800",
      "\\",
      "\\u000a",
      '"',
      "="
    ),
    fc.string({ unit: "binary", minLength: 1, maxLength: 1 })
  )
})

describe("somebody else's text", () => {
  it("stays on one line, within its length, and whole characters", () => {
    fc.assert(
      fc.property(nasty, fc.integer({ min: 1, max: 40 }), (text, most) => {
        const line = oneLine(text, most)
        expect(line).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}\p{Cs}\u202a-\u202e\u2066-\u2069]/u)
        expect(line.length).toBeLessThanOrEqual(most)
      }),
      { numRuns: 500 }
    )
  })
  it("of two that differ differs, if there is room", () => {
    fc.assert(
      fc.property(nasty, nasty, (a, b) => {
        expect(oneLine(a, 10_000) === oneLine(b, 10_000)).toBe(a === b)
      })
    )
  })
  it("that is harmless is left as it is", () => {
    expect(oneLine('Größe="1" 🎉', 100)).toBe('Größe="1" 🎉')
    expect(oneLine("a\nb\\n", 100)).toBe("a\\u000ab\\\\n")
    expect(oneLine("abcdef", 4)).toBe("abc…")
    expect(oneLine("ab\ncd", 5)).toBe("ab…")
  })
})
