import { Effect, Stream } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import type { Unanswered } from "../../../../src/app/commands/overview/ask-cluster.ts"
import { watchUsage } from "../../../../src/app/commands/ui/watch-usage.ts"
import type { UsagePage } from "../../../../src/domain/commands/ui/usage-page.ts"
import { UsageSums } from "../../../../src/domain/usage/usage-report.ts"
import { now } from "../../../domain/commands/ui/pages.ts"
import { someHealth, use } from "../../../domain/commands/ui/usages.ts"
import { it } from "../../../support/effect-it.ts"

const wish = { from: undefined, to: undefined, by: "machine_id" }
const away: Unanswered = { message: "The operator is away.", fix: "Wait." }

/** The use as a connection reads it, which counts what it is asked, and can be slow or away. */
const counted = Effect.fnUntraced(function* () {
  yield* TestClock.setTime(now)
  const asked = { reports: 0, health: 0, clusters: 0, days: new Array<number>() }
  const state = { sessions: 1, isAway: false, isOld: false, millis: 0 }
  const report = Effect.suspend(() => {
    asked.reports++
    if (state.isAway) return Effect.fail(away)
    const query = { format: "json", primaryKey: "machine_id", from: now - 86_400_000, to: undefined } as const
    const sums = new UsageSums(query, now)
    for (let i = 0; i < state.sessions; i++) sums.add(use(`user ${i}`, 3))
    const installation = { operatorVersion: "1", chartVersion: "1", clusterName: "main", clusters: [] }
    return Effect.as(Effect.sleep(state.millis), sums.report(installation))
  })
  const usage = watchUsage(
    Effect.succeed({
      report: () => report,
      health: () =>
        Effect.suspend(() => {
          asked.health++
          return state.isOld ? Effect.fail({ message: "It is old.", fix: "Update." }) : Effect.succeed(someHealth())
        }),
      trends: (days: number) =>
        Effect.sync(() => {
          asked.days.push(days)
          return { dailySessions: [], dailyActiveUsers: [], dailyCiSessions: [], userAdoption: [], usersBefore: 0 }
        }),
      clusters: Effect.sync(() => ({ clusters: [], note: `look ${++asked.clusters}` }))
    })
  )
  const seen: Array<UsagePage> = []
  yield* Effect.forkScoped(Stream.runForEach(usage.pages(wish), (page) => Effect.sync(() => seen.push(page))))
  return { asked, seen, state, usage }
})

describe("the use that is watched", () => {
  it.effect("shows a session at the next look, and reads trends only where they are other", function* () {
    const { asked, seen, state } = yield* counted()
    yield* TestClock.adjust("6 seconds")
    expect(asked).toEqual({ reports: 9, health: 1, clusters: 2, days: [2] })
    state.sessions = 2
    yield* TestClock.adjust("700 millis")
    expect(seen.at(-1)?.content?.counts.userSessions).toBe(2)
    expect(asked.days).toEqual([2, 2])
    yield* TestClock.adjust("70 seconds")
    expect(asked.days).toHaveLength(3)
  })

  it.effect("asks seldom where a report takes long", function* () {
    const { asked, state } = yield* counted()
    state.millis = 4_000
    yield* TestClock.adjust("90 seconds")
    expect(asked.reports).toBe(6)
  })

  it.effect("keeps what it knows while the operator is away, and goes on", function* () {
    const { asked, seen, state } = yield* counted()
    yield* TestClock.adjust("1 second")
    state.isAway = true
    yield* TestClock.adjust("1 minute")
    expect(seen.at(-1)).toMatchObject({ problem: away, content: { counts: { userSessions: 1 } } })
    expect(asked.reports).toBeLessThan(12)
    state.isAway = false
    yield* TestClock.adjust("15 seconds")
    expect(seen.at(-1)?.problem).toBeUndefined()
  })

  it.effect("says at once that there is nothing to show", function* () {
    const { seen, state } = yield* counted()
    state.isAway = true
    yield* TestClock.adjust("1 second")
    expect(seen[0]).toEqual({ problem: away, content: undefined })
  })

  it.effect("has the health over time now and then, or why an operator of before has none", function* () {
    const { asked, seen, state } = yield* counted()
    yield* TestClock.adjust("25 seconds")
    expect([asked.health, seen.at(-1)?.content?.health.clusters.length]).toEqual([3, 2])
    state.isOld = true
    yield* TestClock.adjust("11 seconds")
    expect(seen.at(-1)?.content?.health).toMatchObject({
      clusters: [],
      note: "The health over time cannot be shown: It is old. Update."
    })
  })

  it.effect("is a file too, or the reason why it is none", function* () {
    const { state, usage } = yield* counted()
    expect(yield* usage.file("csv", wish)).toContain("user 0@laptop")
    state.isAway = true
    expect(yield* Effect.flip(usage.file("csv", wish))).toEqual(away)
  })
})
