/** The status of a branch comes soon from the default cluster to the primary, where users wait for it. */

import { describe, expect, it } from "vitest"
import { branchStatusLags, quantile } from "./branch-status-lags.ts"

describe("the status of a branch", () => {
  it.each([
    ["a usual network", undefined],
    ["100 ms each way", 100]
  ] as const)("is at the primary within two seconds: %s", (_, oneWay) => {
    const lags = branchStatusLags("lags", oneWay)
    expect(lags.length).toBeGreaterThan(150)
    expect(quantile(lags, 0.99)).toBeLessThan(2_000)
  })
})
