import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type ServingLife, servingLife, servingStep } from "../../../../src/domain/fleet/credentials/serving-renewal.ts"

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
const start = Date.UTC(2026, 0, 1)

describe("the next step of the renewal", () => {
  const current = servingLife(start)
  const prepared = start + 61 * day
  const successor = servingLife(prepared)

  it.each([
    ["without a certificate", {}, start, "Make"],
    ["with a new one", { current }, start, "Keep"],
    ["with one that its maker's clock has from the future", { current }, start - day, "Keep"],
    ["31 days before its end", { current }, current.until - 31 * day, "Keep"],
    ["30 days before its end", { current }, current.until - 30 * day, "Prepare"],
    ["with a successor that was just made", { current, successor }, prepared, "Keep"],
    ["with a successor that the API servers know for an hour", { current, successor }, prepared + hour, "Promote"],
    [
      "with a successor that they were not told of",
      { current, successor, isTrusted: false },
      prepared + 20 * day,
      "Keep"
    ],
    ["with a certificate that has ended", { current, successor }, current.until, "Make"]
  ])("%s", (_, kept, now, step) =>
    expect(servingStep({ current: undefined, successor: undefined, isTrusted: true, ...kept }, now)).toBe(step)
  )
})

describe("renewals over the years", () => {
  /** A look at the certificates after so long, and whether the API server takes what it is told then. */
  const looks = fc.array(fc.record({ after: fc.integer({ min: minute, max: day }), told: fc.boolean() }), {
    minLength: 200,
    maxLength: 400
  })

  it("serve only what is valid, and a new certificate after an hour, when its authority is trusted", () => {
    fc.assert(
      fc.property(looks, (all) => {
        let now = start
        let current: ServingLife | undefined
        let successor: ServingLife | undefined
        let trusted: ReadonlyArray<ServingLife> = []
        for (const { after, told } of all) {
          now += after
          const wanted = [current, successor].filter((life) => life !== undefined)
          const isTrusted = wanted.every((life) => trusted.includes(life))
          switch (servingStep({ current, successor, isTrusted }, now)) {
            case "Make":
              // Once at the start, since in this world somebody looks at least daily.
              expect(current).toBeUndefined()
              current = servingLife(now)
              break
            case "Prepare":
              successor = servingLife(now)
              break
            case "Promote":
              expect(successor === undefined ? undefined : trusted.includes(successor)).toBe(true)
              expect(now - ((successor?.from ?? now) + hour)).toBeGreaterThanOrEqual(hour)
              current = successor
              successor = undefined
              break
            case "Keep":
          }
          if (told) trusted = [current, successor].filter((life) => life !== undefined)
          expect(current !== undefined && current.from <= now && now < current.until).toBe(true)
        }
      }),
      { numRuns: 200 }
    )
  })
})
