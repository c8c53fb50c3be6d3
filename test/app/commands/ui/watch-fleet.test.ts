import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import type { Unanswered } from "../../../../src/app/commands/overview/ask-cluster.ts"
import { watchFleet } from "../../../../src/app/commands/ui/watch-fleet.ts"
import type { FleetPage } from "../../../../src/domain/commands/ui/fleet-page.ts"
import { aFleet } from "../../../domain/commands/ui/pages.ts"
import { it } from "../../../support/effect-it.ts"

const away: Unanswered = { message: "The cluster is away.", fix: "Wait." }

/** A fleet that counts what it is asked, and that can be away. */
const counted = () => {
  const asked = { connections: 0, open: 0, details: 0, looks: 0 }
  const fleet = { isAway: false }
  const connect = Effect.acquireRelease(
    Effect.sync(() => {
      asked.connections++
      asked.open++
      return {
        details: Effect.sync(() => {
          asked.details++
          return { branches: [], queues: [], events: [], local: [], notes: [`details ${asked.details}`] }
        }),
        look: (details: { readonly notes: ReadonlyArray<string> }) =>
          Effect.suspend(() => {
            asked.looks++
            const sessions = asked.looks > 3 ? [] : aFleet().sessions
            return fleet.isAway ? Effect.fail(away) : Effect.succeed(aFleet({ notes: details.notes, sessions }))
          })
      }
    }),
    () => Effect.sync(() => void asked.open--)
  )
  return { asked, connect, fleet }
}

describe("a fleet that is watched", () => {
  it.effect("is asked once at the beginning, and then only while a page follows it", function* () {
    const { asked, connect } = counted()
    const watched = yield* watchFleet(connect)
    yield* TestClock.adjust("1 minute")
    expect(asked).toEqual({ connections: 1, open: 0, details: 1, looks: 1 })
    const follow = () => Effect.forkScoped(Stream.runDrain(watched.pages))
    const pages = [yield* follow(), yield* follow()]
    yield* TestClock.adjust("9500 millis")
    expect(asked).toEqual({ connections: 2, open: 1, details: 3, looks: 11 })
    yield* Fiber.interrupt(pages[0] ?? (yield* follow()))
    yield* TestClock.adjust("1 second")
    expect(asked.looks).toBe(12)
    yield* Fiber.interrupt(pages[1] ?? (yield* follow()))
    yield* TestClock.adjust("1 minute")
    expect([asked.looks, asked.open]).toEqual([12, 0])
  })

  it.effect("keeps its last state and the changes while it is away, and is connected to again", function* () {
    const { asked, connect, fleet } = counted()
    const watched = yield* watchFleet(connect)
    const seen: Array<FleetPage> = []
    yield* Effect.forkScoped(Stream.runForEach(watched.pages, (page) => Effect.sync(() => seen.push(page))))
    yield* TestClock.adjust("3 seconds")
    expect(seen.at(-1)?.events.map(({ text }) => text)).toEqual(["The session of ann has ended."])
    fleet.isAway = true
    yield* TestClock.adjust("3 seconds")
    expect(seen.at(-1)).toMatchObject({ problem: away, events: [{ text: "The session of ann has ended." }] })
    const connections = asked.connections
    expect(connections).toBeGreaterThan(2)
    yield* TestClock.adjust("2 minutes")
    // Each try may run a program of the kubeconfig.
    expect(asked.connections - connections).toBeLessThan(12)
    fleet.isAway = false
    yield* TestClock.adjust("15 seconds")
    expect(seen.at(-1)).toMatchObject({ problem: undefined, events: [{ text: "The session of ann has ended." }] })
    expect(yield* watched.page).toBe(seen.at(-1))
    expect(asked.open).toBe(1)
  })

  it.effect("that cannot be read at first is not watched", function* () {
    const { connect, fleet } = counted()
    fleet.isAway = true
    expect(yield* Effect.flip(watchFleet(connect))).toEqual(away)
  })
})
