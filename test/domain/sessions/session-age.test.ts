import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { timestamp } from "../../../src/domain/resources/object-meta.ts"
import { endByAge, type ObservedAge } from "../../../src/domain/sessions/session-age.ts"

const created = 1_000_000_000_000
const observed = (change: Partial<ObservedAge> = {}): ObservedAge => ({
  metadata: { creationTimestamp: timestamp(created) },
  createdSeenAt: created,
  servedSince: created - 1_000_000,
  maxSecs: 3_600,
  ...change
})

describe("the age of a session", () => {
  it("has no end where no longest time is set", () =>
    expect(endByAge(observed({ maxSecs: undefined }), created + 1e12)).toBeUndefined())

  it("reaches its end after the longest time, with a sentence", () => {
    const endsAt = created + 3_600_000
    expect(endByAge(observed(), endsAt - 1)).toMatchObject({ isReached: false, at: endsAt })
    expect(endByAge(observed(), endsAt)).toMatchObject({
      isReached: true,
      why: expect.stringMatching(/^The session has lasted 3600 s, .*operator\.maxSessionTimeSeconds/u)
    })
  })

  it("is counted by our clock if we saw the session come, else from its creation: other leaders change nothing", () => {
    const fromAnotherClock = { creationTimestamp: timestamp(created - 1e10) }
    expect(endByAge(observed({ metadata: fromAnotherClock }), created)?.isReached).toBe(false)
    const later = { createdSeenAt: created + 3_599_999, servedSince: created + 3_600_000 }
    expect(endByAge(observed(later), created + 3_599_999)?.isReached).toBe(false)
    expect(endByAge(observed(later), created + 3_600_000)?.isReached).toBe(true)
    // Without a date, or with one that is none, the session counts from when it was seen.
    expect(endByAge(observed({ ...later, metadata: {} }), created + 3_600_000)?.isReached).toBe(false)
  })

  it("is looked at again at its end, and at least once a day: no timer waits for a month", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 315_360_000 }), fc.nat({ max: 315_360_000 }), (maxSecs, age) => {
        const now = created + age * 1000
        const end = endByAge(observed({ maxSecs }), now)
        expect(end?.isReached).toBe(age >= maxSecs)
        if (end?.isReached === false) {
          expect(end.at).toBeGreaterThan(now)
          expect(end.at).toBe(Math.min(created + maxSecs * 1000, now + 86_400_000))
        }
      })
    )
  })
})
