/** Sums of spans over the real store: that reports made of them are right, and that they are made at all. */

import { join } from "node:path"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { openSqlite } from "../../../src/adapters/usage/sqlite-client.ts"
import { makeUsageStore, openUsageFile } from "../../../src/adapters/usage/usage-store.ts"
import { makeSums } from "../../../src/app/usage/make-sums.ts"
import { noneRunning, SpanSumming } from "../../../src/domain/usage/span-sums.ts"
import { dayAt, monthAt } from "../../../src/domain/usage/usage-spans.ts"
import type { UsageStore } from "../../../src/ports/usage-store.ts"
import { crashImages, folder } from "../../adapters/usage/crash-images.ts"
import { record } from "../../domain/usage/some-records.ts"
import { reportsAgree, sumsHold } from "./sums-property.ts"

const using = <A, E>(use: (store: UsageStore) => Effect.Effect<A, E>): Promise<A> =>
  Effect.runPromise(Effect.scoped(Effect.flatMap(openUsageFile(":memory:"), use)))

const hour = 3_600_000
const at = Date.UTC(2026, 1, 27, 12)
const now = Date.UTC(2026, 2, 2, 12)
const february = monthAt(at)

describe("sums of days and months", () => {
  it("make the reports that the records make, whatever was written and deleted, and when", async () => {
    await sumsHold(openUsageFile(":memory:"), 100)
  })

  it("are made of all past spans in which no session began that runs", async () => {
    const summed = await using((store) =>
      Effect.gen(function* () {
        yield* store.put(record({ id: "1", startedAt: at, stoppedAt: at + 24 * hour }))
        yield* store.put(record({ id: "2", startedAt: now - 24 * hour }))
        yield* makeSums(store, now)
        return yield* store.summed
      })
    )
    // March has begun, and its first day has a session that runs.
    expect(summed.length).toBe(1 + 28)
    expect(summed).toContainEqual(february)
  })

  it("go with a record that begins or ends in their span, and no others do", async () => {
    const left = await using((store) =>
      Effect.gen(function* () {
        yield* store.put(record({ id: "1", startedAt: at - 72 * hour, stoppedAt: at }))
        yield* store.put(record({ id: "2", startedAt: february.from, stoppedAt: february.from + hour }))
        yield* makeSums(store, now)
        yield* store.put(record({ id: "1", startedAt: at - 72 * hour, stoppedAt: at + 24 * hour }))
        return yield* store.summed
      })
    )
    const [start, oldEnd, newEnd, between] = [at - 72 * hour, at, at + 24 * hour, at - 24 * hour].map(dayAt)
    for (const gone of [february, start, oldEnd, newEnd]) expect(left).not.toContainEqual(gone)
    expect(left).toContainEqual(between)
    expect(left.length).toBe(28 - 3)
  })

  it("count sessions that run into a span from the one before it", async () => {
    await using((store) =>
      Effect.gen(function* () {
        const midnight = at + 12 * hour
        yield* store.put(record({ id: "1", startedAt: at, stoppedAt: midnight + 2 * hour }))
        yield* store.put(record({ id: "2", startedAt: midnight + hour, stoppedAt: midnight + 3 * hour }))
        yield* makeSums(store, now)
        yield* reportsAgree(store, { primaryKey: "machine_id", from: midnight, to: undefined }, now)
      })
    )
  })

  it("are those of the last maker, whoever writes later", async () => {
    const left = await using((store) =>
      Effect.gen(function* () {
        const day = dayAt(at)
        const stale = new SpanSumming(day, noneRunning).sums()
        yield* store.beginSums([day], 1)
        yield* store.put(record({ startedAt: at, stoppedAt: at + hour }))
        yield* store.beginSums([day], 2)
        yield* store.keepSums(day, stale, 1)
        return yield* store.summed
      })
    )
    expect(left).toEqual([])
  })

  it("of a later span are not kept when a session that ends there is changed meanwhile", async () => {
    const session = record({ startedAt: at, stoppedAt: now - 24 * hour })
    const between = record({ id: "2", startedAt: now - 30 * hour, stoppedAt: now - 23 * hour })
    await using((store) =>
      Effect.gen(function* () {
        yield* store.put(session)
        yield* store.put(between)
        const disturbed = {
          ...store,
          // February is read when its sums are kept, and the first of March is not.
          keepSums: (span, sums, maker) =>
            Effect.andThen(
              store.keepSums(span, sums, maker),
              span.to === february.to && span.from === february.from
                ? store.put({ ...session, stoppedAt: now - 31 * hour })
                : Effect.void
            )
        } satisfies UsageStore
        yield* makeSums(disturbed, now)
        yield* reportsAgree(store, { primaryKey: "machine_id", from: undefined, to: undefined }, now)
      })
    )
  })

  it("hold wherever a statement is the last one", async () => {
    const sessions = [0, 1, 20, 30].map((hours) => record({ id: String(hours), startedAt: at + hours * hour }))
    const images = await crashImages((store) =>
      Effect.gen(function* () {
        yield* Effect.forEach(sessions, store.put)
        for (const [index, session] of sessions.entries()) {
          yield* store.put({ ...session, stoppedAt: session.startedAt + (index + 1) * 10 * hour })
          yield* makeSums(store, now)
        }
        yield* store.prune({ before: at + hour, maxBytes: Infinity })
      })
    )
    const counts = new Set<number>()
    for (const image of images)
      await Effect.runPromise(
        Effect.gen(function* () {
          const store = yield* openUsageFile(image)
          yield* reportsAgree(store, { primaryKey: "machine_id", from: at, to: undefined }, now)
          counts.add((yield* store.summed).length)
        }).pipe(Effect.scoped)
      )
    // None, some and all of the spans, one of which the prune has taken with the month.
    expect([...counts]).toEqual(expect.arrayContaining([0, 1, 27, 28 + 1]))
  })

  it("are made of records of the release before them", async () => {
    const path = join(folder(), "usage.db")
    const session = record({ startedAt: at, stoppedAt: at + hour })
    await Effect.runPromise(
      Effect.gen(function* () {
        const sql = yield* openSqlite(path)
        yield* (yield* makeUsageStore(sql)).put(session)
        for (const event of ["insert", "update", "delete"]) yield* sql.unsafe(`DROP TRIGGER usage_sums_${event}`)
        yield* sql`DROP TABLE usage_sums`
        yield* sql`DROP TABLE usage_health`
        yield* sql`DELETE FROM usage_migrations WHERE migration_id > 1`
      }).pipe(Effect.scoped)
    )
    await Effect.runPromise(
      Effect.gen(function* () {
        const store = yield* openUsageFile(path)
        yield* makeSums(store, now)
        expect((yield* store.sums(dayAt(at)))?.machines).toEqual({ count: 0, millis: 0 })
        expect((yield* store.sums(february))?.pairs).toEqual([[0, 0, 1, hour, at, at, at + hour]])
      }).pipe(Effect.scoped)
    )
  })
})
