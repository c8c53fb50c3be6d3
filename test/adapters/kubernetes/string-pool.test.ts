import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { StringPool } from "../../../src/adapters/kubernetes/string-pool.ts"

describe("a pool of strings", () => {
  it("changes no value, however many it has seen", () => {
    const pool = new StringPool()
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { maxLength: 5 }), (values) => {
        const text = JSON.stringify(values)
        expect(JSON.stringify(pool.shareIn(JSON.parse(text)))).toBe(text)
      }),
      { numRuns: 500 }
    )
    // More than it remembers, and strings that are longer than it keeps.
    const many = JSON.stringify(Array.from({ length: 10_000 }, (_, index) => ({ name: `n-${index}`, long: "x".repeat(index % 300), __proto: { ["__proto__"]: "own" } })))
    expect(JSON.stringify(pool.shareIn(JSON.parse(many)))).toBe(many)
  })

  it("leaves what is no object or array as it is", () => {
    const pool = new StringPool()
    for (const value of ["text", 1, true, null]) expect(pool.shareIn(value)).toBe(value)
    const text = '{"__proto__":{"a":"b"},"constructor":"c"}'
    expect(JSON.stringify(pool.shareIn(JSON.parse(text)))).toBe(text)
  })
})
