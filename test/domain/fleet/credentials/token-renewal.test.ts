import fc from "fast-check"
import { describe, expect, it } from "vitest"
import type { TokenClaims } from "../../../../src/domain/fleet/credentials/token-claims.ts"
import {
  firstRenewal,
  maxRenewalPause,
  nextTry,
  renewalPause,
  type TokenCandidate,
  tokenRenewal,
  usedToken
} from "../../../../src/domain/fleet/credentials/token-renewal.ts"

const account = { namespace: "mirrord", name: "mirrord-operator-envoy" }
const hour = 3_600_000
const claims = (issuedAt: number | undefined, until: number | undefined, more: Partial<TokenClaims> = {}) => ({
  subject: "system:serviceaccount:mirrord:mirrord-operator-envoy",
  account,
  uid: undefined,
  issuedAt,
  validity: { from: issuedAt, until },
  ...more
})
const token = (issuedAt: number | undefined, until: number | undefined, grantedAt?: number): TokenCandidate => ({
  claims: claims(issuedAt, until),
  grantedAt
})
const at = (used: TokenCandidate, now: number, share = 0, first = used) => {
  const renewal = tokenRenewal(used, first, share, now)
  return renewal._tag === "At" ? renewal.at : renewal.why
}

describe("the renewal of a token", () => {
  it("comes between 70 and 80 % of the lifetime that it was granted", () => {
    expect(at(token(0, 10 * hour, 0), hour)).toBe(8 * hour)
    expect(at(token(0, 10 * hour, 0), hour, 1)).toBeCloseTo(7 * hour)
  })

  it("comes ten minutes earlier where only the claims tell its age, as the member's clock may be ahead", () => {
    expect(at(token(0, 10 * hour), hour)).toBe(8 * hour - hour / 6)
    expect(at(token(0, 10 * hour), hour, 1)).toBeCloseTo(7 * hour - hour / 6)
    // Issued 5 minutes ago by a clock that is 4 minutes ahead: it ends in 5 minutes, not in 9.
    expect(at(token(hour - 60_000, hour + 540_000), hour)).toBe(hour)
  })

  it("counts from the grant by this operator's clock, whatever the member's clock says", () => {
    expect(at(token(5 * hour, 6 * hour, 0), 0)).toBe(0.8 * hour)
    expect(at(token(-5 * hour, -4 * hour, 0), 0)).toBe(0.8 * hour)
  })

  it("counts from the issue if this operator's clock was set back since the grant", () =>
    expect(at(token(0, hour, 2 * hour), 0.1 * hour)).toBe(0.8 * hour - hour / 6))

  it("is due at once for tokens of the future, ended ones, those that do not tell their age, and absurd ones", () => {
    const now = 100 * hour
    for (const one of [
      token(now + 2 * hour, now + 3 * hour),
      token(now - 2 * hour, now - hour),
      token(undefined, now + hour),
      token(now, now - hour)
    ]) {
      expect(at(one, now, 0.5)).toBe(now)
    }
    expect(firstRenewal(0, now)).toBe(now)
    expect(firstRenewal(0.5, now)).toBe(now + 5_000)
  })

  it("is not due at once again after a grant, whatever its claims are", () => {
    expect(at(token(undefined, hour, 0), 0)).toBe(480_000)
    expect(at(token(hour, 0, 0), 0)).toBe(480_000)
    expect(at(token(0, 1, 0), 0)).toBe(10_000)
    expect(at(token(0, hour, 0), 10 * hour)).toBe(10 * hour)
  })

  it("never comes for tokens that nobody can renew", () => {
    expect(at({ claims: undefined }, 0)).toBe("it is no JWT")
    expect(at({ claims: claims(0, undefined) }, 0)).toBe("it has no end")
    expect(at({ claims: claims(0, hour, { account: undefined }) }, 0)).toBe("it is no service account's")
  })

  it("asks for the first token's lifetime, and for no less than API servers grant", () => {
    const seconds = (used: TokenCandidate, first: TokenCandidate) => {
      const renewal = tokenRenewal(used, first, 0, 0)
      return renewal._tag === "At" ? renewal.expirationSeconds : renewal.why
    }
    // The server has granted less than it was asked for.
    expect(seconds(token(0, hour, 0), token(0, 3 * hour))).toBe(3 * 3_600)
    expect(seconds(token(0, 60_000), token(0, 60_000))).toBe(600)
    expect(seconds(token(undefined, hour), token(undefined, hour))).toBe(3_600)
  })

  it("is tried again after 2 s, and after 6 minutes at most", () => {
    expect(renewalPause(0, 0.5)).toBe(2_000)
    for (let failures = 0; failures < 2_000; failures += 7) expect(renewalPause(failures, 1)).toBeLessThan(360_001)
  })
})

describe("the pause after a failed renewal", () => {
  it("leaves time for several tries before the token ends, and is the usual one where no end is known", () => {
    expect(maxRenewalPause(token(0, hour), hour - 400_000)).toBe(100_000)
    expect(maxRenewalPause(token(0, hour), 0)).toBe(300_000)
    for (const used of [token(0, undefined), { claims: undefined }]) expect(maxRenewalPause(used, hour)).toBe(300_000)
    // The member may have another clock.
    const behind = [0, 8_000, 60_000, 2 * hour].map((since) => maxRenewalPause(token(0, hour), hour + since))
    expect(behind).toEqual([2_000, 2_000, 15_000, 300_000])
    fc.assert(
      fc.property(fc.integer({ min: 1, max: hour }), fc.nat(50), (rest, failures) => {
        const longest = maxRenewalPause(token(0, hour), hour - rest)
        expect(renewalPause(failures, 1, longest)).toBeLessThan(rest / 2)
      })
    )
  })
})

describe("the token that is used", () => {
  const first = token(0, 10 * hour)

  it("is the newest that has not ended", () => {
    const renewed = token(8 * hour, 18 * hour)
    expect(usedToken(first, [renewed], 9 * hour)).toBe(renewed)
    // The first was set again, by hand.
    const fresh = token(9 * hour, 10 * hour)
    expect(usedToken(fresh, [renewed], 9.5 * hour)).toBe(fresh)
    expect(usedToken(fresh, [renewed], 11 * hour)).toBe(renewed)
    // It has no age: anything that the member granted since is newer.
    expect(usedToken(token(undefined, 100 * hour), [renewed], 9 * hour)).toBe(renewed)
  })

  it("is another than one that does not tell its age", () => {
    const [ageless, renewed] = [token(undefined, 18 * hour), token(0, 10 * hour)]
    expect(usedToken(first, [ageless], hour)).toBe(first)
    expect(usedToken(ageless, [token(undefined, 17 * hour), renewed], hour)).toBe(renewed)
    expect(usedToken(ageless, [renewed], 11 * hour)).toBe(ageless)
  })

  it("is the newest of all if all have ended: another clock may see them otherwise", () => {
    const renewed = token(8 * hour, 18 * hour)
    expect(usedToken(first, [renewed], 100 * hour)).toBe(renewed)
  })

  it("is not one that the member has refused, if another one lasts", () => {
    const renewed = { ...token(8 * hour, 18 * hour), isRefused: true }
    expect(usedToken(first, [renewed], 9 * hour)).toBe(first)
    expect(usedToken(first, [renewed], 11 * hour)).toBe(renewed)
    expect(usedToken({ ...first, isRefused: true }, [renewed], 9 * hour)).toBe(renewed)
  })

  it("is never that of another account of the same name", () => {
    const of = (uid: string | undefined, issuedAt: number) => ({ claims: claims(issuedAt, 20 * hour, { uid }) })
    const one = of("a", 0)
    for (const [uid, isTaken] of [
      ["a", true],
      ["b", false],
      [undefined, true]
    ] as const) {
      const other = of(uid, hour)
      expect(usedToken(one, [other], 9 * hour)).toBe(isTaken ? other : one)
    }
  })

  it("is the first where that is another account's, has no end, or is no JWT", () => {
    const renewed = token(8 * hour, 18 * hour)
    for (const one of [
      { claims: undefined },
      { claims: claims(0, undefined) },
      { claims: claims(0, 10 * hour, { subject: "system:serviceaccount:mirrord:other" }) },
      { claims: claims(0, 10 * hour, { subject: undefined }) }
    ])
      expect(usedToken(one, [renewed], 9 * hour)).toBe(one)
  })
})

const someToken = fc
  .record({
    issuedAt: fc.option(fc.integer({ min: -10 * hour, max: 10 * hour }), { nil: undefined }),
    until: fc.option(fc.integer({ min: -10 * hour, max: 20 * hour }), { nil: undefined }),
    subject: fc.constantFrom("system:serviceaccount:mirrord:mirrord-operator-envoy", "another", undefined)
  })
  .map(({ issuedAt, subject, until }): TokenCandidate => ({ claims: claims(issuedAt, until, { subject }) }))

describe("whatever tokens there are", () => {
  it("a token that lasts is used if there is one, and the order of the others does not matter", () => {
    fc.assert(
      fc.property(
        someToken,
        fc.array(someToken, { maxLength: 4 }),
        fc.integer({ min: 0, max: hour }),
        (one, others, now) => {
          const used = usedToken(one, others, now)
          const until = ({ claims: found }: TokenCandidate) => found?.validity.until ?? Infinity
          if (until(one) > now) expect(until(used)).toBeGreaterThan(now)
          const turned = usedToken(one, others.toReversed(), now)
          expect([turned.claims?.issuedAt, until(turned)]).toEqual([used.claims?.issuedAt, until(used)])
        }
      )
    )
  })

  it("a pause is kept, unless this clock was set back behind its beginning", () => {
    fc.assert(
      fc.property(fc.nat(20), fc.double({ min: 0, max: 0.999, noNaN: true }), (failures, share) => {
        const pause = renewalPause(failures, share)
        expect(nextTry(-1, pause, 0)).toBe(pause)
        expect(nextTry(-1, pause + 360_000, 0)).toBe(-1)
      })
    )
  })

  it("a renewal is never before now, and for a token of a right clock never behind 80 % of its life", () => {
    fc.assert(
      fc.property(someToken, fc.double({ min: 0, max: 0.999, noNaN: true }), fc.nat(hour), (used, share, now) => {
        const renewal = tokenRenewal(used, used, share, now)
        if (renewal._tag === "Never") return
        expect(renewal.at).toBeGreaterThanOrEqual(now)
        expect(renewal.expirationSeconds).toBeGreaterThanOrEqual(600)
        const { issuedAt, validity } = used.claims ?? claims(undefined, undefined)
        if (issuedAt === undefined || validity.until === undefined || validity.until <= issuedAt || issuedAt > now)
          return
        expect(renewal.at).toBeLessThanOrEqual(Math.max(now, issuedAt + 0.8 * (validity.until - issuedAt)))
      })
    )
  })
})
