import { describe, expect, it } from "vitest"
import { SessionClock } from "../../../src/app/sessions/session-clock.ts"

const at = (time: number): string => new Date(time).toISOString()
const now = Date.UTC(2026, 0, 1)
const since = now - 60_000

describe("the ages of sessions", () => {
  const object = (uid: string, deletionTimestamp?: string) => ({
    metadata: {
      name: "s",
      uid,
      creationTimestamp: at(now - 3_600_000),
      ...(deletionTimestamp === undefined ? {} : { deletionTimestamp })
    }
  })

  it("count from when they were seen, whatever their objects say; earlier ones are older than this process", () => {
    const clock = new SessionClock(since)
    clock.saw(object("1"), false, now)
    clock.saw(object("1"), false, now + 500)
    expect(clock.seen("s")).toEqual({ created: now, deleted: undefined, failed: undefined })
    const other = new SessionClock(since)
    other.saw(object("1"), true, now)
    expect(other.seen("s").created).toBe(since - 1)
    expect(other.seen("never").created).toBe(since - 1)
  })

  it("begin anew for an object that was made anew, and know when its deletion began", () => {
    const clock = new SessionClock(since)
    clock.saw(object("1"), true, now)
    clock.saw(object("1", at(now - 600_000)), false, now + 100)
    clock.saw(object("1", at(now - 600_000)), false, now + 200)
    expect(clock.seen("s")).toEqual({ created: since - 1, deleted: now + 100, failed: undefined })
    clock.saw(object("2"), false, now + 300)
    expect(clock.seen("s")).toEqual({ created: now + 300, deleted: undefined, failed: undefined })
    clock.saw({ ...object("2"), status: { phase: "Failed" } }, false, now + 400)
    clock.saw({ ...object("2"), status: { phase: "Failed" } }, false, now + 500)
    expect(clock.seen("s").failed).toBe(now + 400)
  })
})

describe("the clock of heartbeats", () => {
  it("knows nothing where there is none", () => {
    const clock = new SessionClock(since)
    expect([
      clock.heartbeatSeen("s", undefined, now),
      clock.heartbeatSeen("s", null, now),
      clock.lastWritten("s")
    ]).toEqual([undefined, undefined, undefined])
  })

  it("counts from when a change was seen, whatever time it carries", () => {
    const clock = new SessionClock(since)
    clock.heartbeatSeen("s", at(now - 5_000), now)
    for (const skew of [-600_000, 600_000]) {
      expect(clock.heartbeatSeen("s", at(now + skew), now + 100)).toBe(now + 100)
      expect(clock.heartbeatSeen("s", at(now + skew), now + 900)).toBe(now + 100)
    }
  })

  it("takes the first one for as old as it says, but for no younger than now, and garbage for now", () => {
    expect(new SessionClock(since).heartbeatSeen("s", at(now - 5_000), now)).toBe(now - 5_000)
    expect(new SessionClock(since).heartbeatSeen("s", at(now + 600_000), now)).toBe(now)
    expect(new SessionClock(since).heartbeatSeen("s", "yesterday", now)).toBe(now)
  })

  it("keeps sessions apart and forgets one wholly", () => {
    const clock = new SessionClock(since)
    clock.wrote("a", 1)
    clock.wrote("b", 2)
    clock.heartbeatSeen("a", at(now - 9_000), now)
    clock.forget("a")
    expect([clock.lastWritten("a"), clock.lastWritten("b")]).toEqual([undefined, 2])
    expect(clock.heartbeatSeen("a", at(now - 3_000), now)).toBe(now - 3_000)
  })
})
