import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  excuse,
  heardNoPing,
  heardPing,
  intervalOf,
  isGone,
  isOverdue,
  mayBeReplaced,
  newPulse,
  type Pulse
} from "../../../src/domain/sessions/client-pulse.ts"

const pinging = (...times: ReadonlyArray<number>): Pulse =>
  times.reduce((pulse, at) => heardPing(pulse, at), newPulse(0))

describe("the pulse of a client", () => {
  it("has no interval before two Pings; without any it is not gone whatever its silence", () => {
    for (const pulse of [newPulse(0), heardNoPing(newPulse(0), 5), excuse(newPulse(0), 5)]) {
      expect(intervalOf(pulse)).toBeUndefined()
      expect(isGone(pulse, 1e9)).toBe(false)
    }
  })

  it("that fell asleep after its first Ping is gone after three usual intervals, or as many as it is given", () => {
    for (const pulse of [pinging(0), excuse(pinging(-5_000), 0), heardNoPing(pinging(-5_000), 0)]) {
      expect(intervalOf(pulse)).toBeUndefined()
      expect([isGone(pulse, 89_999), isGone(pulse, 90_000)]).toEqual([false, true])
      expect([isGone(pulse, 179_999, 2), isGone(pulse, 180_000, 2)]).toEqual([false, true])
    }
    expect(isGone(pinging(0, 120_000), 300_000, 1), "its own interval is longer").toBe(false)
  })

  it("is gone after three intervals without a word, not before, and not while it says anything", () => {
    const pulse = pinging(0, 40_000, 80_000)
    expect(isGone(pulse, 199_999)).toBe(false)
    expect(isGone(pulse, 200_000)).toBe(true)
    expect(isGone(heardNoPing(pulse, 190_000), 309_999)).toBe(false)
    expect(isGone(heardNoPing(pulse, 190_000), 310_000)).toBe(true)
  })

  it("with an interval of a second is given fifteen", () => {
    const pulse = pinging(0, 1_000, 2_000, 3_000)
    expect(isGone(pulse, 17_999)).toBe(false)
    expect(isGone(pulse, 18_000)).toBe(true)
  })

  it("is not hurried by one short gap: a first Ping may be followed at once by another program's", () => {
    expect(isGone(pinging(0, 100), 89_000)).toBe(false)
    expect(intervalOf(pinging(0, 100, 300_100))).toBe(300_000)
  })

  it(
    "of a client that pings regularly is never gone nor replaced, with jitter of half an interval, through two " +
      "programs",
    () => {
      const beat = fc.record({
        interval: fc.integer({ min: 1_000, max: 600_000 }),
        offset: fc.double({ min: 0, max: 1, noNaN: true }),
        rounds: fc.integer({ min: 4, max: 12 })
      })
      fc.assert(
        fc.property(beat, ({ interval, offset, rounds }) => {
          const times = Array.from({ length: rounds }, (_, round) => [
            round * interval,
            (round + offset) * interval
          ]).flat()
          const pulse = pinging(...times)
          const next = rounds * interval
          expect(isGone(pulse, next + interval / 2 - 1)).toBe(false)
          const alone = pinging(...times.filter((_, index) => index % 2 === 0))
          expect(mayBeReplaced(alone, next + interval / 2)).toBe(false)
        })
      )
    }
  )

  it("may be replaced as soon as a real client notices that nothing answers its Ping", () => {
    const pulse = pinging(0, 30_000, 60_000)
    // The Ping of 90 s was lost, at 120 s the client reconnects, if nothing came since 90 s.
    expect(mayBeReplaced(pulse, 120_000)).toBe(true)
    expect(mayBeReplaced(heardNoPing(pulse, 90_000), 120_000)).toBe(true)
    expect(mayBeReplaced(pulse, 100_000)).toBe(false)
    expect(mayBeReplaced(heardNoPing(pulse, 110_000), 120_000)).toBe(false)
  })

  it("without an interval may be replaced after half a minute of silence", () => {
    for (const pulse of [newPulse(0), pinging(0)]) {
      expect(mayBeReplaced(pulse, 29_999)).toBe(false)
      expect(mayBeReplaced(pulse, 30_000)).toBe(true)
      expect(isOverdue(pulse, 45_000)).toBe(false)
      expect(isOverdue(pulse, 45_001)).toBe(true)
      expect(isOverdue(heardNoPing(pulse, 40_000), 46_000), "it has just said something").toBe(false)
    }
  })

  it("excused, begins its silence again and takes the pause for no gap", () => {
    const pulse = excuse(pinging(0, 30_000, 60_000), 500_000)
    expect(isGone(pulse, 589_999)).toBe(false)
    expect(isGone(pulse, 590_000)).toBe(true)
    expect(mayBeReplaced(pulse, 540_000)).toBe(false)
    expect(intervalOf(heardPing(pulse, 501_000))).toBe(30_000)
  })
})
