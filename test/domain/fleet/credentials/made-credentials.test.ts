import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { eksTokenEnd } from "../../../../src/domain/fleet/credentials/eks-token.ts"
import {
  afterTry,
  madeRenewal,
  type MadeCredentials,
  nextMaking,
  nothingMade
} from "../../../../src/domain/fleet/credentials/made-credentials.ts"

const minute = 60_000
const share = fc.double({ min: 0, max: 0.999, noNaN: true })
const token = (madeAt: number, until = madeAt + 14 * minute, isRefused = false): MadeCredentials => ({
  madeAt,
  until,
  isRefused
})

const eks = { _tag: "Eks", region: "eu-north-1" } as const

describe("a pause between two tries", () => {
  it("is over when this clock was set back behind its beginning, and for another configuration", () => {
    const made = Result.fail("no identity")
    const failed = afterTry(nothingMade, { auth: eks, begunAt: 0, endedAt: 0, made, share: 0 })
    expect(nextMaking(failed, eks, 0, 0)).toBe(failed.notBefore)
    expect(nextMaking(failed, eks, 0, -86_400_000)).toBe(-86_400_000)
    expect(nextMaking(failed, { ...eks, region: "eu-west-1" }, 0, 0)).toBe(0)
  })
})

describe("a token for a cluster of a cloud", () => {
  it("of 14 minutes is made again after 10 minutes at the latest, and each cluster's a little earlier", () => {
    expect(madeRenewal(token(0), 0, minute)).toBe(10 * minute)
    expect(madeRenewal(token(0), 0.5, minute)).toBe(9.5 * minute)
  })

  it("that lasts longer is made again after 75 to 80 % of its life", () => {
    fc.assert(
      fc.property(share, fc.integer({ min: 20 * minute, max: 1_440 * minute }), (at, until) => {
        const due = madeRenewal(token(0, until), at, 0) / until
        expect(due).toBeLessThan(0.8001)
        expect(due).toBeGreaterThan(0.7499)
      })
    )
  })

  it("for EKS is made again when its identity can be, which is in the identity's last five minutes", () => {
    fc.assert(
      fc.property(share, fc.integer({ min: 6 * minute, max: 14 * minute }), (at, identityEnds) => {
        const due = madeRenewal(token(0, eksTokenEnd(0, identityEnds)), at, 0)
        expect(identityEnds - due).toBeLessThanOrEqual(5 * minute)
        expect(identityEnds - due).toBeGreaterThanOrEqual(4 * minute)
      })
    )
  })

  it("without an end, as a plugin may give one, is made again when it is refused", () => {
    expect(madeRenewal(token(0, Infinity), 0.5, minute)).toBe(Infinity)
    expect(madeRenewal(token(0, Infinity, true), 0.5, minute)).toBe(minute)
  })

  it("is not made again at once again, even if it ends soon or is refused", () => {
    expect(madeRenewal(token(0, minute), 0, 0)).toBe(30_000)
    expect(madeRenewal(token(0, undefined, true), 0, 0)).toBe(30_000)
    expect(madeRenewal(token(0, undefined, true), 0, minute)).toBe(minute)
  })

  it("is made again if this clock was set back", () =>
    expect(madeRenewal(token(60 * minute), 0, 50 * minute)).toBe(50 * minute))
})
