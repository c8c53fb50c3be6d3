import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { failureReasons } from "../../../src/domain/resources/session-failure.ts"
import { afterLook, podlessEnd, type PodLook, podsUnknown } from "../../../src/domain/sessions/podless.ts"

const start = 1_000_000_000_000
const failed = (at: number, reason: Extract<PodLook, { _tag: "Failed" }>["reason"] = "TargetNotReady"): PodLook => ({
  _tag: "Failed",
  at: start + at,
  reason,
  message: "there is no deployment/web"
})
const found: PodLook = { _tag: "Found" }
const after = (...looks: ReadonlyArray<PodLook>) => looks.reduce(afterLook, podsUnknown)

describe("a target without pods", () => {
  it("ends its session after the time, at a look that finds none, with a sentence", () => {
    const pods = after(found, failed(0), failed(30_000))
    expect(podlessEnd(pods, 60_000)).toMatchObject({ isReached: false, at: start + 60_000 })
    expect(podlessEnd(afterLook(pods, failed(59_999)), 60_000)?.isReached).toBe(false)
    expect(podlessEnd(afterLook(pods, failed(60_000)), 60_000)).toEqual({
      isReached: true,
      at: start + 60_000,
      why:
        "The target has had no usable pod for 60 s (operator.noPodTargetsSessionTimeoutMillis): " +
        "there is no deployment/web."
    })
  })

  it("has no end without a time, and none while it has pods", () => {
    expect(podlessEnd(after(failed(0), failed(1e9)), undefined)).toBeUndefined()
    expect(podlessEnd(podsUnknown, 1)).toBeUndefined()
    expect(podlessEnd(after(failed(0), found), 1)).toBeUndefined()
  })

  it("is not known by a look that fails for another reason: the time begins again", () => {
    const pods = after(failed(0), failed(90_000, "Error"), failed(91_000))
    expect(podlessEnd(pods, 60_000)).toMatchObject({ isReached: false, at: start + 151_000 })
    expect(after(failed(0, "Forbidden"))).toEqual(podsUnknown)
  })

  it("counts from the first look without pods since the last with some, in any story", () => {
    const step = fc.record({
      wait: fc.integer({ min: 0, max: 100_000 }),
      reason: fc.option(fc.constantFrom(...failureReasons))
    })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), fc.integer({ min: 1, max: 300_000 }), (steps, millis) => {
        let now = 0
        let pods = podsUnknown
        let without: ReadonlyArray<number> = []
        let hadPods = false
        for (const { reason, wait } of steps) {
          now += wait
          pods = afterLook(pods, reason === null ? found : failed(now, reason))
          if (reason === null) {
            without = []
            hadPods = true
          } else without = reason === "TargetNotReady" || reason === "NoSuchTarget" ? [...without, now] : []
          const [first, last] = [without[0], without.at(-1)]
          const end = podlessEnd(pods, millis)
          expect(end === undefined).toBe(first === undefined)
          expect(pods.hadPods).toBe(hadPods)
          if (first === undefined || last === undefined) continue
          expect(end).toMatchObject({ at: start + first + millis, isReached: last - first >= millis })
        }
      })
    )
  })
})
