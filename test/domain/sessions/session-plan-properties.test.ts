import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { perform, step } from "./session-steps.ts"
import { a, b, c, SessionWorld } from "./session-world.ts"

/** A session of which every cluster is ready. */
const readyWorld = (clusters = [a, b]) => {
  const world = new SessionWorld(clusters)
  world.settle()
  for (const name of clusters) world.makeReady(name)
  expect(world.phase()).toBe("Ready")
  return world
}

describe("plan: properties", () => {
  // The world itself checks: S5, recorded before created, no delete of what the status does not name, one parent write
  // per plan,
  // no finalizer removed over a child that is neither gone nor owed, requeue in the future, a fixed point after every
  // event.
  it("is safe and comes to rest whatever happens", () => {
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 25 }),
        fc.constantFrom("default" as const, "all" as const),
        (steps, sessionStart) => {
          const clusters = [a, b, c]
          const world = new SessionWorld(clusters)
          world.settings = { ...world.settings, sessionStart }
          for (const one of steps) {
            perform(world, one, clusters)
            world.settle()
            expect(world.plan()).toEqual(world.plan())
          }
          // L2: everything of a dead session is gone, or owed, within TTL and graces once faults stop.
          for (const name of clusters) Object.assign(world.member(name), { reachable: true, silentSince: undefined })
          world.closeSockets()
          world.advance(300_000 + 300_000 + 60_000 + 60_000)
          expect(world.parent).toBeUndefined()
          for (const name of clusters) {
            const { child } = world.member(name)
            if (child !== undefined) expect(world.debts).toContain(child.name)
          }
        }
      ),
      { numRuns: 400 }
    )
  })

  it("never ends a session whose heartbeats are fresh", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(59_000), { minLength: 1, maxLength: 40 }), (gaps) => {
        const world = readyWorld()
        world.heartbeat()
        world.forgetSockets()
        for (const gap of gaps) {
          world.advance(gap)
          expect(world.parent).toBeDefined()
          world.heartbeat()
        }
      }),
      { numRuns: 100 }
    )
  })

  it("never ends a running session while a socket is open here", () => {
    fc.assert(
      fc.property(fc.nat(86_400_000), (ms) => {
        const world = readyWorld()
        world.advance(ms)
        expect(world.phase()).toBe("Ready")
      }),
      { numRuns: 50 }
    )
  })

  it("gives the same status whatever the order in which the children are listed", () => {
    const world = new SessionWorld([a, b, c])
    world.settle()
    world.child(a).ready = true
    world.child(c).ready = true
    const observed = world.observe()
    const reversed = { ...observed, children: new Map([...observed.children].reverse()) }
    const other = new SessionWorld([a, b, c])
    other.observe = () => reversed
    expect(other.plan()).toEqual(world.plan())
  })
})
