/**
 * Reports on the use of a year: how long they take over a million sessions, against the plainest sums that the database
 * itself makes of the same table, and what the sums cost by which they need not read all records.
 *
 * Not here: whether the reports are right, which test/app/usage says.
 */

import { tmpdir } from "node:os"
import { join } from "node:path"
import { monitorEventLoopDelay } from "node:perf_hooks"
import { Effect, Redacted, type Scope } from "effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { RandomStream } from "../../lab/simulation/kernel/random-stream.ts"
import { openPostgres } from "../../src/adapters/usage/postgres-client.ts"
import { openSqlite } from "../../src/adapters/usage/sqlite-client.ts"
import { makeUsageStore } from "../../src/adapters/usage/usage-store.ts"
import { makeReports } from "../../src/app/usage/make-reports.ts"
import { makeSums } from "../../src/app/usage/make-sums.ts"
import type { UsageStore } from "../../src/ports/usage-store.ts"
import { engineFolder, furtherPath, quickFolder, startSource } from "../real/engines/postgresql-server.ts"
import { find } from "../support/outside-programs.ts"
import { median, spread } from "./spread.ts"

const minute = 60_000
const day = 1_440 * minute
const users = 200
const targets = 300
/** Targets that one user has. */
const targetsOfUser = 15
const clusterSets: readonly [string, ...ReadonlyArray<string>] = [
  "[]",
  '["east"]',
  '["east","north"]',
  '["east","north","west"]'
]

/** Rows of the sessions of one day, the last of which run into the next one. */
const rowsOfDay = (
  random: RandomStream,
  number: number,
  from: number,
  count: number
): ReadonlyArray<Record<string, unknown>> =>
  Array.from({ length: count }, (_, at) => {
    const user = random.int(0, users - 1)
    const isOfCi = random.chance(0.3)
    const startedAt = from + Math.floor((at * day) / count)
    const stoppedAt = startedAt + random.int(1, random.chance(0.05) ? 600 : 40) * minute
    return {
      id: (number * 1e6 + at).toString(16).toUpperCase(),
      machine_id: `MCowBQYDK2VwAyEA${"abcdefghij".repeat(3)}${user}=`,
      kind: isOfCi ? "ci" : "exec",
      kubernetes_user: `user-${user}@example.com`,
      client_user: `user-${user}`,
      client_host: `laptop-${user}`,
      clusters: random.pick(clusterSets),
      namespace: `team-${user % 20}`,
      target: `deployment/service-${(user * 7 + random.int(0, targetsOfUser - 1)) % targets}`,
      container: "",
      ci_provider: isOfCi ? "github" : "",
      ci_pipeline: "",
      started_at: startedAt,
      last_seen_at: stoppedAt,
      stopped_at: stoppedAt
    }
  })

/** A year that ends at `now`, with so many sessions. */
const fill = Effect.fnUntraced(function* (sql: SqlClient, sessions: number, now: number) {
  const random = new RandomStream("a year")
  for (let number = 0; number < 365; number++) {
    const rows = rowsOfDay(random, number, now - (365 - number) * day, Math.round(sessions / 365))
    for (let at = 0; at < rows.length; at += 500) {
      const [first, ...others] = rows.slice(at, at + 500)
      if (first !== undefined) yield* sql`INSERT INTO usage_sessions ${sql.insert([first, ...others])}`
    }
  }
  // In the years of a real store PostgreSQL has done so itself, which it would do beside the reports here.
  yield* sql.onDialectOrElse({ pg: () => sql`VACUUM ANALYZE usage_sessions`, orElse: () => Effect.void })
})

interface Taken {
  /** Milliseconds. */
  readonly wall: number
  /** Milliseconds of this process's processor time, which other work of the machine changes less. */
  readonly cpu: number
}

const timed = <A, E>(call: Effect.Effect<A, E>): Effect.Effect<Taken, E> =>
  Effect.suspend(() => {
    const [start, before] = [performance.now(), process.cpuUsage()]
    return Effect.map(call, () => {
      const { system, user } = process.cpuUsage(before)
      return { wall: performance.now() - start, cpu: (system + user) / 1_000 }
    })
  })

const percentile = (all: ReadonlyArray<number>, part: number): string =>
  (all.toSorted((a, b) => a - b)[Math.ceil(part * all.length) - 1] ?? 0).toFixed(0)

const percentiles = (all: ReadonlyArray<Taken>): string => {
  const [wall, cpu] = [all.map((one) => one.wall), all.map((one) => one.cpu)]
  return (
    `p50 ${percentile(wall, 0.5)} ms, p95 ${percentile(wall, 0.95)} ms; ` +
    `of processor ${percentile(cpu, 0.5)} and ${percentile(cpu, 0.95)} ms`
  )
}

const dateOf = (time: number): string => new Date(time).toISOString().slice(0, 10)

/** The reports that are asked for, by their names. */
const questions = (now: number) =>
  [
    ["all time", "usage", "format=json"],
    ["a month", "usage", `format=json&from=${dateOf(now - 61 * day)}&to=${dateOf(now - 30 * day)}`],
    [
      "odd period",
      "usage",
      `format=json&from=${new Date(now - 200.3 * day).toISOString()}&to=${new Date(now - 17.7 * day).toISOString()}`
    ],
    ["by another key", "usage", "format=json&primary_key=username"],
    ["trends of a year", "trends", "days=365"]
  ] as const

interface Engine {
  readonly name: string
  readonly open: Effect.Effect<SqlClient, { readonly message: string }, Scope.Scope>
}

const folderIn = (parent: string) =>
  Effect.acquireRelease(
    Effect.sync(() => engineFolder(parent)),
    ({ remove }) => Effect.sync(remove)
  )

const sqlite: Engine = {
  name: "SQLite",
  open: Effect.flatMap(folderIn(tmpdir()), ({ path }) => openSqlite(join(path, "usage.db")))
}

/** A server on this machine, whose own processor time is not counted. */
const postgres: Engine = {
  name: "PostgreSQL",
  open: Effect.gen(function* () {
    const { path } = yield* folderIn(quickFolder())
    const [address, password] = ["127.94.0.7", "a-password"]
    yield* Effect.acquireRelease(
      Effect.promise(() => startSource(path, address, password, furtherPath)),
      (server) => Effect.promise(() => server.stop())
    )
    const url = `postgresql://postgres:${password}@${address}/postgres?sslmode=disable`
    return yield* openPostgres({ url: Redacted.make(url), authority: undefined })
  })
}

/** One engine's lines. */
const measure = Effect.fnUntraced(function* (sql: SqlClient, store: UsageStore, isShort: boolean) {
  const [sessions, repetitions] = isShort ? [100_000, 10] : [1_000_000, 40]
  const now = Date.now()
  yield* fill(sql, sessions, now)
  const lines: Array<string> = []
  const plain: Array<Taken> = []
  for (let at = 0; at < 5; at++)
    plain.push(
      yield* timed(
        sql`SELECT machine_id, COUNT(*), SUM(stopped_at - started_at) FROM usage_sessions GROUP BY machine_id`
      )
    )
  lines.push(`${sessions} sessions of a year; plain SQL, sums by user alone: ${percentiles(plain)}`)
  const reports = yield* makeReports(
    { store: () => store, problem: () => "", health: () => [] },
    {
      kept: { workbook: () => Effect.die("none is asked for") },
      installation: () => ({ operatorVersion: "", chartVersion: "", clusterName: "", clusters: [] })
    }
  )
  const ask = (which: "usage" | "trends", search: string) => timed(reports.answer(which, new URLSearchParams(search)))
  lines.push(`  without sums      ${percentiles([yield* ask("usage", "format=json")])}`)
  const delays = monitorEventLoopDelay({ resolution: 1 })
  delays.enable()
  const made = yield* timed(makeSums(store, now))
  delays.disable()
  const [size] = yield* sql<{ readonly bytes: number; readonly spans: number }>`SELECT
    SUM(LENGTH(sums)) AS bytes, COUNT(*) AS spans FROM usage_sums WHERE sums IS NOT NULL`
  lines.push(
    `  sums of ${Number(size?.spans)} days and months: ${(made.wall / 1_000).toFixed(1)} s, ` +
      `of processor ${(made.cpu / 1_000).toFixed(1)} s, ` +
      `${(Number(size?.bytes) / 1_048_576).toFixed(1)} MiB; meanwhile messages waited ` +
      `${(delays.percentile(99) / 1e6).toFixed(0)} ms at p99, ${(delays.max / 1e6).toFixed(0)} at most`
  )
  for (const [name, which, search] of questions(now)) {
    const times: Array<Taken> = []
    for (let at = 0; at < repetitions; at++) times.push(yield* ask(which, search))
    const ratios = times.map(({ wall }) => wall / median(plain.map((one) => one.wall)))
    lines.push(`  ${name.padEnd(17)} ${percentiles(times)}; ${spread(ratios, 2)} times plain SQL`)
  }
  const deleted = yield* timed(store.prune({ before: now - 360 * day, maxBytes: Infinity }))
  lines.push(`  five days deleted: ${percentiles([deleted])}`)
  return lines
})

export const usage = async function* (isShort: boolean): AsyncGenerator<string> {
  const server = find("PostgreSQL 17")
  for (const { name, open } of server._tag === "Found" ? [sqlite, postgres] : [sqlite]) {
    yield name
    yield* await Effect.runPromise(
      Effect.gen(function* () {
        const sql = yield* open
        return yield* measure(sql, yield* makeUsageStore(sql), isShort)
      }).pipe(Effect.scoped)
    )
  }
  if (server._tag === "Missing") yield `PostgreSQL is not measured: ${server.sentence}`
}
