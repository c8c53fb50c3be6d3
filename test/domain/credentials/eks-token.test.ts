import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { eksRenewal, eksTokenDate, eksTokenEnd, type MadeEksToken } from "../../../src/domain/credentials/eks-token.ts"

const minute = 60_000
const share = fc.double({ min: 0, max: 0.999, noNaN: true })
const token = (madeAt: number, identityEnds?: number, isRefused = false): MadeEksToken => ({
  madeAt,
  until: eksTokenEnd(madeAt, identityEnds),
  isRefused
})

describe("a token for an EKS cluster", () => {
  it("is used for 14 minutes, and no longer than the identity lasts that made it", () => {
    expect(eksTokenEnd(5, undefined)).toBe(14 * minute + 5)
    expect(eksTokenEnd(0, 6 * minute)).toBe(6 * minute)
  })

  it("is made anew after 10 minutes at the latest, and each cluster's a little earlier", () => {
    expect(eksRenewal(token(0), 0, minute)).toBe(10 * minute)
    expect(eksRenewal(token(0), 0.5, minute)).toBe(9.5 * minute)
  })

  it("is made anew when its identity can be, which is in the identity's last five minutes", () => {
    fc.assert(
      fc.property(share, fc.integer({ min: 6 * minute, max: 14 * minute }), (at, identityEnds) => {
        const due = eksRenewal(token(0, identityEnds), at, 0)
        expect(identityEnds - due).toBeLessThanOrEqual(5 * minute)
        expect(identityEnds - due).toBeGreaterThanOrEqual(4 * minute)
      })
    )
  })

  it("is not made anew at once again, even if it ends soon or is refused", () => {
    expect(eksRenewal(token(0, minute), 0, 0)).toBe(30_000)
    expect(eksRenewal(token(0, undefined, true), 0, 0)).toBe(30_000)
    expect(eksRenewal(token(0, undefined, true), 0, minute)).toBe(minute)
  })

  it("is made anew if this clock was set back", () => {
    expect(eksRenewal(token(60 * minute), 0, 50 * minute)).toBe(50 * minute)
  })

  it("has the date of the API server, up to a quarter of an hour from this clock", () => {
    expect(eksTokenDate(0, undefined)).toEqual(Result.succeed(0))
    expect(eksTokenDate(0, -15 * minute)).toEqual(Result.succeed(-15 * minute))
    expect(eksTokenDate(0, -16 * minute)).toEqual(
      Result.fail("the API server's clock is 16m behind this operator's; set the clock of the operator's node")
    )
  })
})
