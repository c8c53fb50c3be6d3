import { describe, expect, it } from "vitest"
import { SessionSightings } from "../../../src/app/sessions/session-sightings.ts"

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
    const sightings = new SessionSightings(since)
    sightings.saw(object("1"), false, now)
    sightings.saw(object("1"), false, now + 500)
    expect(sightings.seen("s")).toEqual({ created: now, deleted: undefined, failed: undefined })
    const other = new SessionSightings(since)
    other.saw(object("1"), true, now)
    expect(other.seen("s").created).toBe(since - 1)
    expect(other.seen("never").created).toBe(since - 1)
  })

  it("begin again for an object that was made again, and know when its deletion began", () => {
    const sightings = new SessionSightings(since)
    sightings.saw(object("1"), true, now)
    sightings.saw(object("1", at(now - 600_000)), false, now + 100)
    sightings.saw(object("1", at(now - 600_000)), false, now + 200)
    expect(sightings.seen("s")).toEqual({ created: since - 1, deleted: now + 100, failed: undefined })
    sightings.saw(object("2"), false, now + 300)
    expect(sightings.seen("s")).toEqual({ created: now + 300, deleted: undefined, failed: undefined })
    sightings.saw({ ...object("2"), status: { phase: "Failed" } }, false, now + 400)
    sightings.saw({ ...object("2"), status: { phase: "Failed" } }, false, now + 500)
    expect(sightings.seen("s").failed).toBe(now + 400)
  })
})

describe("sightings of heartbeats", () => {
  it("knows nothing where there is none", () => {
    const sightings = new SessionSightings(since)
    expect([
      sightings.heartbeatSeen("s", undefined, now),
      sightings.heartbeatSeen("s", null, now),
      sightings.lastWritten("s")
    ]).toEqual([undefined, undefined, undefined])
  })

  it("counts its own heartbeats from the client's last moment, and those of others from when they were seen", () => {
    const sightings = new SessionSightings(since)
    const open = { open: 1, lastClosedAt: undefined }
    const closed = { open: 0, lastClosedAt: now + 5_000 }
    const first = sightings.write("s", open, now)
    expect(sightings.heartbeatSeen("s", first, now + 10)).toBe(now)
    const after = sightings.write("s", closed, now + 15_000)
    // As long as the write is on its way.
    expect(sightings.heartbeatSeen("s", first, now + 15_005)).toBe(now)
    expect(sightings.heartbeatSeen("s", after, now + 15_010)).toBe(now + 5_000)
    expect(sightings.lastWritten("s")).toBe(now + 15_000)
    expect(sightings.heartbeatSeen("s", at(now + 16_000), now + 16_100)).toBe(now + 16_100)
  })

  it("counts from when a change was seen, whatever time it carries", () => {
    const sightings = new SessionSightings(since)
    sightings.heartbeatSeen("s", at(now - 5_000), now)
    for (const skew of [-600_000, 600_000]) {
      expect(sightings.heartbeatSeen("s", at(now + skew), now + 100)).toBe(now + 100)
      expect(sightings.heartbeatSeen("s", at(now + skew), now + 900)).toBe(now + 100)
    }
  })

  it("takes the first one for as old as it says, but for no younger than now, and garbage for now", () => {
    expect(new SessionSightings(since).heartbeatSeen("s", at(now - 5_000), now)).toBe(now - 5_000)
    expect(new SessionSightings(since).heartbeatSeen("s", at(now + 600_000), now)).toBe(now)
    expect(new SessionSightings(since).heartbeatSeen("s", "yesterday", now)).toBe(now)
  })

  it("keeps sessions apart and forgets one wholly", () => {
    const sightings = new SessionSightings(since)
    for (const [index, name] of ["a", "b"].entries())
      sightings.write(name, { open: 1, lastClosedAt: undefined }, index + 1)
    sightings.heartbeatSeen("a", at(now - 9_000), now)
    sightings.forget("a")
    expect([sightings.lastWritten("a"), sightings.lastWritten("b")]).toEqual([undefined, 2])
    expect(sightings.heartbeatSeen("a", at(now - 3_000), now)).toBe(now - 3_000)
  })
})
