/** Following sessions over a store that can fail, and how much a look costs. */

import { Effect, Logger, type Scope } from "effect"
import { describe, expect } from "vitest"
import { CurrentSessionActs, SessionActs } from "../../../src/app/kernel/session-acts.ts"
import type { ServedSession } from "../../../src/app/services/sessions.ts"
import { followSessions } from "../../../src/app/usage/follow-sessions.ts"
import type { SeenSession } from "../../../src/domain/usage/seen-session.ts"
import { recordKey, type UsageRecord } from "../../../src/domain/usage/usage-record.ts"
import { type UsageStore, UsageStoreError } from "../../../src/ports/usage-store.ts"
import { record } from "../../domain/usage/some-records.ts"
import { pass } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"

const full = new UsageStoreError({ operation: "write", detail: "the disk is full" })

/** Sessions by their names, and what was done about them. */
const follower = Effect.fnUntraced(function* (
  change: Partial<UsageStore> = {},
  open: Effect.Effect<unknown, UsageStoreError, Scope.Scope> = Effect.void,
  sessions = new Map<string, SeenSession>(),
  hostAhead = 0
) {
  const lines: Array<string> = []
  const logger = Logger.make(({ message }) => void lines.push(String(message)))
  const rows = new Map<string, UsageRecord>()
  const acts = new SessionActs()
  const looks = { count: 0 }
  const served = (name: string) => {
    const seen = sessions.get(name)
    return seen === undefined ? undefined : ({ metadata: { name }, use: () => seen } as ServedSession)
  }
  const all = () => {
    looks.count++
    return [...sessions.keys()].flatMap((name) => served(name) ?? [])
  }
  const store: UsageStore = {
    open: Effect.succeed([]),
    put: (row) => Effect.sync(() => void rows.set(recordKey(row), row)),
    page: () => Effect.succeed([]),
    prune: () => Effect.succeed(0),
    newest: () => Effect.succeed([]),
    nextStart: () => Effect.undefined,
    summed: Effect.succeed([]),
    sums: () => Effect.undefined,
    beginSums: () => Effect.void,
    keepSums: () => Effect.void,
    openHealth: Effect.succeed({ open: [], end: undefined }),
    firstHealth: Effect.undefined,
    putHealth: () => Effect.void,
    health: () => Effect.succeed([]),
    ...change
  }
  const stopped = { has: () => false, add: () => {} } as never
  yield* followSessions(
    {
      open: Effect.as(open, store),
      sessions: { served: [{ all, find: served, nameOf: String, stopped }], distant: () => [] },
      readiness: () => new Map(),
      limits: (before) => ({ before, maxBytes: 1 }),
      hostAhead: () => hostAhead
    },
    Effect.void
  ).pipe(Effect.provideService(CurrentSessionActs, acts), Effect.provide(Logger.layer([logger])))
  yield* pass("0 seconds")
  const tell = (act: "connected" | "ended", session: string, at: number): void =>
    acts.publish({ act, session, by: { user: "ann", groups: [] } } as never, at)
  return { lines, sessions, rows, looks, tell }
})

describe("following sessions", () => {
  it.effect(
    "looks at all of them once a second, however many begin, and misses none that is over sooner",
    function* () {
      const { looks, rows, sessions, tell } = yield* follower()
      for (let at = 0; at < 20; at++) {
        sessions.set(`s${at}`, record({ id: String(at), startedAt: at }))
        tell("connected", `s${at}`, at)
        yield* pass("10 millis")
        tell("ended", `s${at}`, at + 10)
        sessions.delete(`s${at}`)
      }
      expect(looks.count).toBe(1)
      yield* pass("1 second")
      yield* pass("1 second")
      expect(looks.count).toBe(3)
      expect([...rows.values()].map(({ startedAt, stoppedAt }) => [startedAt, stoppedAt])).toEqual(
        Array.from({ length: 20 }, (_, at) => [at, at + 10])
      )
    }
  )

  it.effect("counts time by the host's clock, which may have been put ahead of its own", function* () {
    const hour = 3_600_000
    const bounds: Array<number> = []
    const prune: UsageStore["prune"] = ({ before }) => Effect.sync(() => bounds.push(before) - bounds.length)
    const sessions = new Map([["s", record({ startedAt: hour })]])
    const { rows, tell } = yield* follower({ prune }, Effect.void, sessions, hour)
    tell("ended", "s", 1_000)
    sessions.delete("s")
    yield* pass("1 second")
    expect([...rows.values()].map(({ startedAt, stoppedAt }) => [startedAt, stoppedAt])).toEqual([[hour, hour + 1_000]])
    expect(bounds).toEqual([hour])
  })

  it.effect("makes room before it writes, and at once when it could not write", function* () {
    const volume = { isFull: true }
    const written = new Set<string>()
    const store: Partial<UsageStore> = {
      put: (row) => (volume.isFull ? Effect.fail(full) : Effect.sync(() => void written.add(recordKey(row)))),
      prune: () =>
        Effect.sync(() => {
          volume.isFull = false
          return 1
        })
    }
    const sessions = new Map([["s", record({ id: "1" })]])
    const { lines } = yield* follower(store, Effect.void, sessions)
    expect([written.size, lines.includes("use is not recorded")]).toEqual([1, false])
    volume.isFull = true
    sessions.set("t", record({ id: "2" }))
    yield* pass("1 second")
    yield* pass("1 second")
    yield* pass("1 second")
    expect(written.size).toBe(2)
  })

  it.effect("opens a store again that has broken, and writes there what was followed", function* () {
    const database = { isBroken: false, opened: 0, closed: 0 }
    const call = <A>(value: A) => Effect.suspend(() => (database.isBroken ? Effect.fail(full) : Effect.succeed(value)))
    const open = Effect.acquireRelease(
      Effect.sync(() => {
        database.opened++
        database.isBroken = false
      }),
      () => Effect.sync(() => database.closed++)
    )
    const written: Array<string> = []
    const sessions = new Map([["s", record({ id: "1" })]])
    const put = (row: UsageRecord) =>
      Effect.tap(
        call(undefined),
        Effect.sync(() => written.push(row.id))
      )
    const { lines } = yield* follower({ put, prune: () => call(0) }, open, sessions)
    yield* pass("1 minute")
    database.isBroken = true
    sessions.set("t", record({ id: "2" }))
    yield* pass("1 second")
    yield* pass("1 second")
    yield* pass("1 second")
    expect([database.opened, database.closed]).toEqual([2, 1])
    expect(written).toEqual(["1", "1", "2"])
    expect(lines).toEqual(["use is recorded", "use is not recorded", "use is recorded"])
  })

  it.effect("keeps the newest 20,000 ended sessions while the store cannot be written", function* () {
    const volume = { isFull: true }
    const kept: Array<number> = []
    const { lines, sessions } = yield* follower({
      put: ({ startedAt }) => (volume.isFull ? Effect.fail(full) : Effect.sync(() => void kept.push(startedAt)))
    })
    for (const round of [0, 1, 2]) {
      for (let at = 0; at < 7_000; at++) {
        const startedAt = round * 7_000 + at
        sessions.set(`s${startedAt}`, record({ id: String(startedAt), startedAt }))
      }
      yield* pass("1 second")
      sessions.clear()
      yield* pass("1 second")
    }
    yield* pass("1 second")
    volume.isFull = false
    yield* pass("1 second")
    yield* pass("1 second")
    expect([kept.length, kept[0], kept.at(-1)]).toEqual([20_000, 1_000, 20_999])
    expect(lines.filter((line) => line.includes("dropped"))).toEqual([
      "the oldest records of use are dropped, as they cannot be written",
      "records of use were dropped"
    ])
  })

  it.effect("says once why use is not recorded, however long that is so", function* () {
    const { lines } = yield* follower({}, Effect.fail(full))
    for (let at = 0; at < 300; at++) yield* pass("1 second")
    expect(lines).toEqual(["use is not recorded"])
  })
})
