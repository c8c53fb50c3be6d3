import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  maxStopped,
  rememberStopped,
  stoppedFor,
  type StoppedSessions,
  wasStopped
} from "../../../src/domain/sessions/stopped-sessions.ts"

const none: StoppedSessions = new Map()

describe("the memory of stopped sessions", () => {
  it("keeps a session for as long as its client may ask for it, and then forgets it", () => {
    const { forgotten, stopped } = rememberStopped(none, ["mc-1"], 1_000)
    expect(forgotten).toEqual([])
    expect(stoppedFor).toBe(15 * 60_000)
    expect(wasStopped(stopped, "mc-1", 1_000 + stoppedFor - 1)).toBe(true)
    expect(wasStopped(stopped, "mc-1", 1_000 + stoppedFor)).toBe(false)
    expect(wasStopped(stopped, "mc-2", 1_000)).toBe(false)
    const later = rememberStopped(stopped, ["mc-2"], 1_000 + stoppedFor)
    expect(later.forgotten).toEqual(["mc-1"])
    expect([...later.stopped.keys()]).toEqual(["mc-2"])
  })

  it("counts a session that is stopped again from then on", () => {
    const first = rememberStopped(none, ["mc-1", "mc-2"], 0).stopped
    const again = rememberStopped(first, ["mc-1"], 600_000)
    expect(again.forgotten).toEqual([])
    expect([...again.stopped]).toEqual([
      ["mc-2", 0],
      ["mc-1", 600_000]
    ])
  })

  it("has a bound, forgets the oldest, and never one that is young and within the bound", () => {
    const names = (count: number, from = 0) => Array.from({ length: count }, (_, index) => `mc-${from + index}`)
    const full = rememberStopped(none, names(maxStopped), 0).stopped
    const next = rememberStopped(full, ["one more"], 1)
    expect(next.forgotten).toEqual(["mc-0"])
    expect(next.stopped.size).toBe(maxStopped)
    const step = fc.record({ pause: fc.nat(stoppedFor / 2), sessions: fc.array(fc.constantFrom("a", "b", "c", "d")) })
    fc.assert(
      fc.property(fc.array(step, { maxLength: 20 }), (steps) => {
        let [memory, now] = [none, 0]
        const at = new Map<string, number>()
        for (const { pause, sessions } of steps) {
          now += pause
          const { forgotten, stopped } = rememberStopped(memory, sessions, now)
          for (const session of sessions) at.set(session, now)
          for (const [session, since] of at) expect(wasStopped(stopped, session, now)).toBe(now < since + stoppedFor)
          for (const session of memory.keys()) expect(stopped.has(session)).toBe(!forgotten.includes(session))
          memory = stopped
        }
      })
    )
  })
})
