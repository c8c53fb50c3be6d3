import { describe, expect, it } from "vitest"
import { HeartbeatClock, isHeartbeatOnly } from "../../../src/app/controllers/heartbeat-clock.ts"

const at = (time: number): string => new Date(time).toISOString()
const now = Date.UTC(2026, 0, 1)

describe("the clock of heartbeats", () => {
  it("knows nothing where there is none", () => {
    const clock = new HeartbeatClock()
    expect([clock.seen("s", undefined, now), clock.seen("s", null, now), clock.lastWritten("s")]).toEqual([undefined, undefined, undefined])
  })

  it("counts from when a change was seen, whatever time it carries", () => {
    const clock = new HeartbeatClock()
    clock.seen("s", at(now - 5_000), now)
    for (const skew of [-600_000, 600_000]) {
      expect(clock.seen("s", at(now + skew), now + 100)).toBe(now + 100)
      expect(clock.seen("s", at(now + skew), now + 900)).toBe(now + 100)
    }
  })

  it("takes the first one for as old as it says, but for no younger than now, and garbage for now", () => {
    expect(new HeartbeatClock().seen("s", at(now - 5_000), now)).toBe(now - 5_000)
    expect(new HeartbeatClock().seen("s", at(now + 600_000), now)).toBe(now)
    expect(new HeartbeatClock().seen("s", "yesterday", now)).toBe(now)
  })

  it("keeps sessions apart and forgets one wholly", () => {
    const clock = new HeartbeatClock()
    clock.wrote("a", 1)
    clock.wrote("b", 2)
    clock.seen("a", at(now - 9_000), now)
    clock.forget("a")
    expect([clock.lastWritten("a"), clock.lastWritten("b")]).toEqual([undefined, 2])
    expect(clock.seen("a", at(now - 3_000), now)).toBe(now - 3_000)
  })
})

describe("a change that is a heartbeat only", () => {
  const object = (resourceVersion: string, status?: object, more: object = {}) => ({ metadata: { name: "s", resourceVersion, ...more }, spec: { a: 1 }, ...(status === undefined ? {} : { status }) })
  it.each([
    ["another timestamp", object("1", { phase: "Ready", connectedTimestamp: "a" }), object("2", { phase: "Ready", connectedTimestamp: "b" }), true],
    ["the first timestamp", object("1"), object("2", { connectedTimestamp: "b" }), true],
    ["with managed fields", object("1", {}, { managedFields: [1] }), object("2", {}, { managedFields: [2] }), true],
    ["another phase too", object("1", { phase: "Pending", connectedTimestamp: "a" }), object("2", { phase: "Ready", connectedTimestamp: "b" }), false],
    ["a deletion", object("1"), object("2", {}, { deletionTimestamp: "now" }), false],
    ["another object", object("1", {}, { uid: "1" }), object("2", {}, { uid: "2" }), false]
  ])("%s", (_what, before, after, expected) => {
    expect(isHeartbeatOnly(before, after)).toBe(expected)
  })
  it("is none where nothing was known", () => {
    expect(isHeartbeatOnly(undefined, object("1"))).toBe(false)
  })
})
