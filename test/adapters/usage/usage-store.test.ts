import { once } from "node:events"
import { join } from "node:path"
import { Worker } from "node:worker_threads"
import { Effect } from "effect"
import type { Connection } from "effect/sql/SqlConnection"
import { describe, expect, it } from "vitest"
import { openSqlite } from "../../../src/adapters/usage/sqlite-client.ts"
import { makeUsageStore, openUsageFile } from "../../../src/adapters/usage/usage-store.ts"
import {
  afterSpanWrites,
  dueSpans,
  type HealthReading,
  noHealth,
  readHealth
} from "../../../src/domain/usage/health-spans.ts"
import { recordKey, type UsageRecord } from "../../../src/domain/usage/usage-record.ts"
import type { PageMark, UsageStore } from "../../../src/ports/usage-store.ts"
import { record } from "../../domain/usage/some-records.ts"
import { crashImages, folder } from "./crash-images.ts"
import { healthIn, healthIsKept } from "./health-kept.ts"

const using = <A, E>(path: string, use: (store: UsageStore) => Effect.Effect<A, E>): Promise<A> =>
  Effect.runPromise(Effect.scoped(Effect.flatMap(openUsageFile(path), use)))

const all = Effect.fnUntraced(function* (store: UsageStore, most = 2) {
  const found: Array<UsageRecord> = []
  let after: PageMark | undefined
  for (;;) {
    const page = yield* store.page({ from: -1e15, to: 1e15 }, after, most)
    found.push(...page)
    if (page.length < most) return found
    after = page.at(-1)
  }
})

const whole = record({
  id: "1",
  kind: "ci",
  clusters: ["a", "b"],
  container: "main",
  ciProvider: "github",
  ciPipeline: "it's",
  startedAt: 5,
  lastSeenAt: 7,
  stoppedAt: 9
})

describe("the store of use", () => {
  it("gives records back as they were put, after it was opened again, in the order of their starts", async () => {
    const path = join(folder(), "usage.db")
    const records = [whole, record({ id: "2", startedAt: 5 }), record({ id: "2", machineId: "key-2", startedAt: 1 })]
    await using(path, ({ put }) => Effect.forEach(records, put))
    expect(await using(path, all)).toEqual([records[2], records[0], records[1]])
    expect((await using(path, ({ open }) => open)).map(recordKey)).toEqual(["2 key-2", "2 key-1"])
  })

  it("has one row per session: the first start, the last heartbeat, and the end or none", async () => {
    const path = join(folder(), "usage.db")
    const after = (...records: ReadonlyArray<UsageRecord>) =>
      using(path, (store) => Effect.andThen(Effect.forEach(records, store.put), all(store)))
    const ended = record({ startedAt: 5, lastSeenAt: 9, stoppedAt: 9 })
    // An operator that was suspended writes what it knew before the end.
    for (const lastSeenAt of [8, 9]) expect(await after(ended, record({ startedAt: 7, lastSeenAt }))).toEqual([ended])
    expect(await after(record({ startedAt: 7, lastSeenAt: 10 }))).toEqual([record({ startedAt: 5, lastSeenAt: 10 })])
  })

  it("keeps no session longer than it should, but all that run", async () => {
    const path = join(folder(), "usage.db")
    const records = [1, 2, 3].map((startedAt) => record({ id: String(startedAt), startedAt, stoppedAt: startedAt }))
    const left = await using(path, (store) =>
      Effect.forEach([record({ startedAt: 0 }), ...records], store.put).pipe(
        Effect.andThen(store.prune({ before: 3, maxBytes: 1e9 })),
        Effect.tap((count) => Effect.sync(() => expect(count).toBe(2))),
        Effect.andThen(all(store))
      )
    )
    expect(left.map(({ id }) => id)).toEqual(["AB", "3"])
  })

  it("deletes in portions, between which messages are relayed", async () => {
    const path = join(folder(), "usage.db")
    const sizes: Array<number> = []
    const counted = (connection: Connection): Connection => ({
      ...connection,
      execute: (sql, ...rest) =>
        Effect.tap(connection.execute(sql, ...rest), (rows) =>
          Effect.sync(() => sql.startsWith("DELETE FROM usage_sessions") && sizes.push(rows.length))
        )
    })
    const records = Array.from({ length: 2_500 }, (_, at) => record({ id: `s${at}`, startedAt: at, stoppedAt: at }))
    const count = await Effect.runPromise(
      openSqlite(path, counted).pipe(
        Effect.flatMap(makeUsageStore),
        Effect.flatMap(({ prune, put }) =>
          Effect.andThen(Effect.forEach(records, put), prune({ before: 2_400, maxBytes: 1e9 }))
        ),
        Effect.scoped
      )
    )
    expect([count, sizes]).toEqual([2_400, [1_000, 1_000, 400]])
  })

  it("waits while another connection has the file, as an operator that ends still may", async () => {
    const path = join(folder(), "usage.db")
    const other = new Worker(
      `const { parentPort, workerData } = require("node:worker_threads")
      const database = new (require("node:sqlite").DatabaseSync)(workerData)
      database.exec("BEGIN EXCLUSIVE")
      parentPort.postMessage("locked")
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100)
      database.exec("COMMIT")`,
      { eval: true, workerData: path }
    )
    await once(other, "message")
    expect(await using(path, all)).toEqual([])
    await once(other, "exit")
  })

  it("deletes the oldest sessions when it needs more room than it may have", async () => {
    const path = join(folder(), "usage.db")
    const records = Array.from({ length: 3_000 }, (_, at) => record({ id: `s${at}`, startedAt: at, stoppedAt: at }))
    const left = await using(path, (store) =>
      Effect.forEach(records, store.put).pipe(
        Effect.andThen(store.prune({ before: 0, maxBytes: 250_000 })),
        Effect.andThen(all(store, 1_000))
      )
    )
    expect([left.length, left[0]?.startedAt]).toEqual([1_000, 2_000])
  })

  it("says that it cannot be opened", async () => {
    const error = await Effect.runPromise(Effect.flip(Effect.scoped(openUsageFile("/proc/none/usage.db"))))
    expect(error.message).toMatch(/^the store of use cannot open: .*unable to open database file/u)
  })

  it("has each session once, wherever a statement is the last one", async () => {
    const life = [record({ startedAt: 5 }), record({ startedAt: 5, lastSeenAt: 65_000 })]
    const acts = [...life, whole, record({ startedAt: 5, lastSeenAt: 65_000, stoppedAt: 70_000 })]
    const images = await crashImages(({ put }) => Effect.forEach(acts, put))
    expect(images.length).toBeGreaterThan(acts.length + 4)
    const counts: Array<number> = []
    for (const image of images) {
      const before = await using(image, all)
      counts.push(before.length)
      const after = await using(image, (store) => Effect.andThen(Effect.forEach(acts, store.put), all(store)))
      expect(after).toEqual([acts.at(-1), whole].toSorted((a, b) => ((a?.id ?? "") < (b?.id ?? "") ? -1 : 1)))
    }
    // The image after each write has it.
    expect(counts.slice(-acts.length)).toEqual([1, 1, 2, 2])
  })

  it("keeps spans of clusters' health, and of each cluster the newest", async () => {
    await using(join(folder(), "usage.db"), healthIsKept)
  })

  it("loses no more than the last minute of clusters' health, wherever a statement is the last one", async () => {
    const second = 1_000
    const life = 400
    const readings = (at: number): ReadonlyArray<HealthReading> => [
      { cluster: "a", unready: undefined },
      ...(at > 300 ? [] : [{ cluster: "b", unready: at < 200 ? undefined : { reason: "Lost", message: "" } }])
    ]
    /** Times of the last reading before each statement. */
    const times: Array<number> = []
    const images = await crashImages((store) =>
      Effect.gen(function* () {
        let state = noHealth
        for (let at = 1; at <= life; at++) {
          state = readHealth(state, readings(at), at * second)
          const due = dueSpans(state)
          if (due.length > 0) {
            yield* store.putHealth(due)
            times.push(at)
          }
          state = afterSpanWrites(state, due)
        }
      })
    )
    // The minutes, the change and the end.
    expect(times).toEqual([61, 121, 181, 200, 241, 260, 301, 361])
    for (const [index, image] of images.slice(-times.length).entries()) {
      const next = times[index + 1] ?? life
      const spans = await using(image, healthIn)
      const ends = spans.map(({ cluster, lastSeen }) => [cluster, lastSeen / second] as const)
      const end = (cluster: string): number => Math.max(...ends.map(([name, at]) => (name === cluster ? at : 0)))
      expect(next - end("a")).toBeLessThanOrEqual(60)
      expect(Math.min(300, next) - end("b")).toBeLessThanOrEqual(60)
    }
  })
})
