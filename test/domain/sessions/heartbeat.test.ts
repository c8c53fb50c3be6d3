import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { heartbeat, heartbeatInterval, lastHeartbeat } from "../../../src/domain/sessions/heartbeat.ts"
import { expiresAt, noSockets } from "../../../src/domain/sessions/liveness.ts"

describe("heartbeat", () => {
  it("is due at once for a first socket, then every 10 s", () => {
    const open = { open: 1, lastClosedAt: undefined }
    expect(heartbeat(open, undefined, 1_000)).toEqual({ write: true, nextAt: 11_000 })
    expect(heartbeat(open, 1_000, 10_999)).toEqual({ write: false, nextAt: 11_000 })
    expect(heartbeat(open, 1_000, 11_000)).toEqual({ write: true, nextAt: 21_000 })
  })

  it("waits for the first 10 s of a start, and for no more", () => {
    const open = { open: 1, lastClosedAt: undefined }
    const at = (isStarting: boolean, now: number, written?: number) =>
      heartbeat(open, lastHeartbeat(written, { createdSeenAt: 1_000, isStarting }), now)
    expect(at(true, 1_500)).toEqual({ write: false, nextAt: 11_000 })
    expect(at(false, 1_500)).toEqual({ write: true, nextAt: 11_500 })
    expect(at(true, 11_000)).toEqual({ write: true, nextAt: 21_000 })
    expect(at(true, 12_000, 11_000)).toEqual({ write: false, nextAt: 21_000 })
  })

  it("goes on for 15 s after the last socket closed and then stops", () => {
    const closed = { open: 0, lastClosedAt: 100_000 }
    expect(heartbeat(closed, 95_000, 105_000)).toEqual({ write: true, nextAt: 115_000 })
    expect(heartbeat(closed, 105_000, 115_000)).toEqual({ write: true, nextAt: undefined })
    expect(heartbeat(closed, 105_000, 115_001)).toEqual({ write: false, nextAt: undefined })
  })

  it("is none without a socket, and is not silenced by a clock that jumped back", () => {
    expect(heartbeat(noSockets, undefined, 0)).toEqual({ write: false, nextAt: undefined })
    expect(heartbeat({ open: 1, lastClosedAt: undefined }, 900_000, 1_000).write).toBe(true)
  })

  it("writes at most once per interval however often it is asked", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(9_000), { maxLength: 100 }), (gaps) => {
        let [now, last]: [number, number | undefined] = [0, undefined]
        let writes = 0
        for (const gap of gaps) {
          now += gap
          if (heartbeat({ open: 1, lastClosedAt: undefined }, last, now).write) {
            writes += 1
            last = now
          }
        }
        expect(writes).toBeLessThanOrEqual(Math.floor(now / heartbeatInterval) + 1)
      })
    )
  })
})

describe("expiresAt", () => {
  const base = { createdAt: 1_000_000, heartbeatAt: undefined, leaderSince: 0, sockets: noSockets }

  it("runs from creation, heartbeat, last socket, or a younger leader's start + 150 s, whichever is latest", () => {
    expect(expiresAt(base, 60)).toBe(1_060_000)
    expect(expiresAt({ ...base, heartbeatAt: 1_200_000 }, 60)).toBe(1_260_000)
    expect(expiresAt({ ...base, heartbeatAt: 900_000 }, 60)).toBe(1_060_000)
    expect(expiresAt({ ...base, sockets: { open: 0, lastClosedAt: 1_300_000 } }, 60)).toBe(1_360_000)
    expect(expiresAt({ ...base, heartbeatAt: 1_100_000, leaderSince: 1_050_000 }, 60)).toBe(1_260_000)
    expect(expiresAt({ ...base, leaderSince: 999_000 }, 60)).toBe(1_060_000)
  })

  it(
    "needs no grace for a session whose client this leader has seen, though its creation, cut to the second, looks " +
      "older",
    () => {
      const createdAt = 1_000_000
      const seen = {
        createdAt,
        heartbeatAt: 1_060_000,
        leaderSince: 1_000_463,
        sockets: { open: 0, lastClosedAt: 1_061_000 }
      }
      expect(expiresAt(seen, 5)).toBe(1_066_000)
      expect(expiresAt({ ...seen, sockets: noSockets }, 5)).toBe(1_155_463)
    }
  )

  it("is never while a socket is open", () =>
    expect(expiresAt({ ...base, sockets: { open: 1, lastClosedAt: undefined } }, 60)).toBeUndefined())
})
