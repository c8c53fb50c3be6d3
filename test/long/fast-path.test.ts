import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { compareFastPath } from "../domain/relay/support/fast-path.ts"

describe("the fast path of bulk", () => {
  it("is what step would decide, whatever comes: ten million messages", () => {
    let messages = 0
    fc.assert(
      fc.property(fc.integer(), (seed) => {
        messages += compareFastPath(String(seed), 2_000).messages
      }),
      { numRuns: 5_000 }
    )
    expect(messages).toBeGreaterThanOrEqual(10_000_000)
  })
})
