import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  endingClause,
  endingSince,
  endStep,
  invalidClause,
  nextEndStep
} from "../../../../src/domain/fleet/credentials/credential-end.ts"

const day = 86_400_000
const year = { from: 0, until: 365 * day }

describe("the end of credentials that nobody renews", () => {
  it("is told 30, 7 and 1 days before, and when it has come", () => {
    const steps: Array<number> = []
    for (let at = nextEndStep(year, 0); at !== undefined; at = nextEndStep(year, at)) steps.push(at / day)
    expect(steps).toEqual([335, 358, 364, 365])
  })

  it("is told a last fifth before, if the lifetime is short", () => {
    expect(nextEndStep({ from: 0, until: day }, 0)).toBe(0.8 * day)
    expect(nextEndStep({ from: 0, until: 14 * day }, 0)).toBe(13 * day)
    expect(nextEndStep({ from: undefined, until: 14 * day }, -100 * day)).toBe(-16 * day)
  })

  it("has words with the time that is left, and a cure", () => {
    const ending = { what: "the certificate", validity: year, cure: "make another" }
    expect(endingClause(ending, 334 * day)).toBeUndefined()
    expect(endingClause(ending, 358 * day)).toBe("the certificate ends in 7d, at 1971-01-01 00:00 UTC; make another")
    expect(endingClause(ending, 365 * day)).toBe("the certificate ended at 1971-01-01 00:00 UTC; make another")
    expect(endingClause({ ...ending, validity: { from: 0, until: undefined } }, 365 * day)).toBeUndefined()
  })

  it("is the reason for a refusal when it has come, and so is a beginning that has not", () => {
    const credentials = { what: "the certificate", validity: year, cure: "make another" }
    expect(invalidClause(credentials, -1)).toBe(
      "the certificate is valid from 1970-01-01 00:00 UTC only; wait until then, or make another"
    )
    expect([0, 365 * day - 1].map((now) => invalidClause(credentials, now))).toEqual([undefined, undefined])
    expect(invalidClause(credentials, 365 * day)).toBe(endingClause(credentials, 365 * day))
  })

  it("is told step by step, each once, whatever the lifetime is and whenever somebody begins to look", () => {
    const lifetime = fc.integer({ min: 1, max: 4_000 * day })
    fc.assert(
      fc.property(
        lifetime,
        fc.option(fc.nat(5_000 * day), { nil: undefined }),
        fc.nat(5_000 * day),
        (life, age, now) => {
          const validity = { from: age === undefined ? undefined : 0, until: life }
          const [step, next] = [endStep(validity, now), nextEndStep(validity, now)]
          expect(step > 0).toBe((endingSince(validity, now) ?? Infinity) <= now)
          if (next === undefined) expect(now).toBeGreaterThanOrEqual(life)
          else expect([next > now, endStep(validity, next) > step]).toEqual([true, true])
        }
      )
    )
  })
})
