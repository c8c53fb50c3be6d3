import * as fc from "fast-check"
import { describe, it } from "vitest"
import { compareFastWay } from "../domain/routing/support/fast-way.ts"

describe("the fast way of bulk", { timeout: 3_600_000 }, () => {
  it("is what step would decide, whatever comes: ten million messages", () => {
    fc.assert(
      fc.property(fc.integer(), (seed) => void compareFastWay(String(seed), 2_000)),
      { numRuns: 5_000 }
    )
  })
})
