import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  expiresAt,
  isInactive,
  leaderGrace,
  type LivenessObservation,
  noSockets
} from "../../../src/domain/sessions/liveness.ts"

const now = 10_000_000
/** A session whose leader is old and whose client left a while ago. */
const left = (ago: number): LivenessObservation => ({
  createdAt: 1,
  heartbeatAt: undefined,
  leaderSince: 0,
  sockets: { open: 0, lastClosedAt: now - ago }
})

describe("a session without a client", () => {
  it.each<readonly [string, LivenessObservation, boolean]>([
    ["whose client left 20 s ago", left(20_000), true],
    ["whose client left a moment ago, and may be coming back", left(19_999), false],
    ["with a client", { ...left(60_000), sockets: { open: 1, lastClosedAt: undefined } }, false],
    ["with a recent heartbeat", { ...left(60_000), heartbeatAt: now - 10_000 }, false],
    ["that never had a client", { ...left(0), createdAt: now - 30_000, sockets: noSockets }, true],
    [
      "that an earlier leader made, whose client may be in its long pause",
      { ...left(0), leaderSince: now - leaderGrace, sockets: noSockets },
      false
    ]
  ])("%s", (_, observed, inactive) => expect(isInactive(observed, now)).toBe(inactive))

  it("is inactive before it expires, and stays so until a client comes", () => {
    const time = fc.integer({ min: 0, max: 2_000_000 })
    const observed = fc.record({
      createdAt: time,
      heartbeatAt: fc.option(time, { nil: undefined }),
      leaderSince: time,
      sockets: fc.record({ open: fc.nat({ max: 1 }), lastClosedAt: fc.option(time, { nil: undefined }) })
    })
    fc.assert(
      fc.property(observed, time, fc.nat(), fc.integer({ min: 20, max: 600 }), (session, at, more, ttl) => {
        if (isInactive(session, at)) expect(isInactive(session, at + more)).toBe(true)
        const endsAt = expiresAt(session, ttl)
        expect(endsAt !== undefined && isInactive(session, endsAt)).toBe(session.sockets.open === 0)
      })
    )
  })
})
