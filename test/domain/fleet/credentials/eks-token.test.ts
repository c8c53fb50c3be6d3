import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { eksTokenDate, eksTokenEnd } from "../../../../src/domain/fleet/credentials/eks-token.ts"

const minute = 60_000

describe("a token for an EKS cluster", () => {
  it("is used for 14 minutes, and no longer than the identity lasts that made it", () => {
    expect(eksTokenEnd(5, undefined)).toBe(14 * minute + 5)
    expect(eksTokenEnd(0, 6 * minute)).toBe(6 * minute)
  })

  it("has the date of the API server, up to a quarter of an hour from this clock", () => {
    expect(eksTokenDate(0, undefined)).toEqual(Result.succeed(0))
    expect(eksTokenDate(0, -15 * minute)).toEqual(Result.succeed(-15 * minute))
    expect(eksTokenDate(0, -16 * minute)).toEqual(
      Result.fail("the API server's clock is 16m behind this operator's; set the clock of the operator's node")
    )
  })
})
