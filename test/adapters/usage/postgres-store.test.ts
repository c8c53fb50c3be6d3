/** The store of use in a real PostgreSQL: the same statements as SQLite's, and a database that goes away. */

import { chownSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { afterAll, beforeAll, expect, it } from "vitest"
import { createAuthority } from "../../../lab/cluster/http/pki.ts"
import { openPostgres } from "../../../src/adapters/usage/postgres-client.ts"
import { makeUsageStore, openUsageDatabase } from "../../../src/adapters/usage/usage-store.ts"
import type { UsageStore } from "../../../src/ports/usage-store.ts"
import { sumsHold } from "../../app/usage/sums-property.ts"
import { record } from "../../domain/usage/some-records.ts"
import {
  engineFolder,
  furtherPath,
  nobody,
  quickFolder,
  type Server,
  startSource
} from "../../real/engines/postgresql-server.ts"
import { describeWith } from "../../support/describe-with.ts"
import { virtualTime } from "../../support/virtual-time.ts"
import { healthIsKept } from "./health-kept.ts"

const password = "a-secret-of-records"
const address = "127.94.0.1"
/** Another address of the server, which its certificate does not have. */
const otherAddress = "127.94.0.2"
const always = { from: Number.MIN_SAFE_INTEGER, to: Number.MAX_SAFE_INTEGER }

const database = (more = "?sslmode=disable", word = password) => ({
  url: Redacted.make(`postgresql://postgres:${word}@${address}/postgres${more}`),
  authority: undefined
})

/** Puts a certificate where the server reads it, as the server's user. */
const giveCertificate = (folder: string, certPem: string, keyPem: string): void => {
  for (const [file, pem] of Object.entries({ "server.crt": certPem, "server.key": keyPem })) {
    const path = join(folder, "source", file)
    writeFileSync(path, pem, { mode: 0o600 })
    if (nobody.uid !== undefined) chownSync(path, nobody.uid, nobody.gid)
  }
}

/** The store without records. */
const empty = Effect.gen(function* () {
  const sql = yield* Effect.orDie(openPostgres(database()))
  yield* Effect.orDie(sql`DROP TABLE IF EXISTS usage_sessions, usage_sums, usage_health, usage_migrations`)
  yield* Effect.orDie(
    sql`DROP FUNCTION IF EXISTS usage_sums_insert, usage_sums_update, usage_sums_delete, usage_sums_begin`
  )
  return yield* makeUsageStore(sql)
})

const using = <A, E>(use: (store: UsageStore) => Effect.Effect<A, E>): Promise<A> =>
  Effect.runPromise(Effect.scoped(Effect.flatMap(empty, use)))

describeWith(["PostgreSQL 17"], "the store of use in PostgreSQL", () => {
  let server: Server | undefined
  const folder = engineFolder(quickFolder())

  beforeAll(async () => {
    server = await startSource(folder.path, `${address},${otherAddress}`, password, furtherPath)
  })

  afterAll(async () => {
    await server?.stop()
    folder.remove()
  })

  it("has one row per session, in the order of their starts, and prunes the oldest that have ended", async () => {
    const [first, second] = [record({ id: "1", startedAt: 5, clusters: ["a"] }), record({ id: "2", startedAt: 1 })]
    await using((store) =>
      Effect.gen(function* () {
        yield* Effect.forEach([first, second, { ...first, startedAt: 7, lastSeenAt: 9 }], store.put)
        expect(yield* store.page(always, undefined, 5)).toEqual([second, { ...first, lastSeenAt: 9 }])
        expect(yield* store.page(always, second, 5)).toEqual([{ ...first, lastSeenAt: 9 }])
        yield* store.put({ ...second, stoppedAt: 20 })
        expect((yield* store.open).map(({ id }) => id)).toEqual(["1"])
        expect(yield* store.prune({ before: 6, maxBytes: 1e9 })).toBe(1)
        expect((yield* store.newest(5)).map(({ id }) => id)).toEqual(["1"])
      })
    )
  })

  it("keeps to its room although PostgreSQL's files do not shrink", async () => {
    const records = Array.from({ length: 3_000 }, (_, at) => record({ id: `s${at}`, startedAt: at, stoppedAt: at }))
    const left = await using((store) =>
      Effect.forEach(records, store.put).pipe(
        Effect.andThen(store.prune({ before: 0, maxBytes: 700_000 })),
        Effect.andThen(store.page(always, undefined, 5_000))
      )
    )
    expect([left.length, left[0]?.startedAt]).toEqual([2_000, 1_000])
  })

  it("makes the reports of sums that the records make", async () => {
    await sumsHold(empty, 8)
  })

  it("keeps spans of clusters' health, and of each cluster the newest", async () => {
    await using((store) => healthIsKept(store))
  })

  it("goes on after its connections were lost", async () => {
    const kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'braid'"
    const left = await using((store) =>
      Effect.gen(function* () {
        yield* store.put(record({ id: "1" }))
        yield* Effect.promise(() => server?.query("postgres", kill) ?? Promise.resolve(""))
        yield* Effect.retry(store.put(record({ id: "2" })), { times: 3 })
        return yield* store.open
      })
    )
    expect(left.map(({ id }) => id)).toEqual(["1", "2"])
  })

  it("gives a statement up that another transaction holds up for long", async () => {
    const waits = "SELECT COUNT(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'braid'"
    const query = (sql: string) => Effect.promise(() => server?.query("postgres", sql) ?? Promise.resolve(""))
    const error = await Effect.gen(function* () {
      const store = yield* empty
      yield* query("BEGIN; LOCK TABLE usage_sessions; PREPARE TRANSACTION 'held'")
      const put = yield* Effect.forkChild(Effect.flip(store.put(record())))
      yield* Effect.repeat(query(waits), { until: (count) => count === "1" })
      yield* TestClock.adjust("1 minute")
      return yield* Fiber.join(put)
    }).pipe(
      Effect.ensuring(query("ROLLBACK PREPARED 'held'")),
      Effect.scoped,
      Effect.provide(virtualTime),
      Effect.runPromise
    )
    expect(error.message).toBe("the store of use cannot write: no answer within 20 s")
  })

  it("asks for TLS unless the URL says no, and no error has the password", async () => {
    const messages = await Promise.all(
      [database(""), database("?sslmode=disable", "another-secret"), database("?sslmode=some")].map((one) =>
        Effect.runPromise(Effect.flip(Effect.scoped(openUsageDatabase(one))))
      )
    )
    expect(messages[0]?.message).toMatch(/TLS|SSL/u)
    expect(messages[1]?.message).toContain("authentication failed")
    for (const error of messages) expect(JSON.stringify([error.message, error])).not.toContain("secret")
  })

  it("trusts the server only by the given authority and its own name", async () => {
    const [authority, another] = [
      await createAuthority("databases", Date.now),
      await createAuthority("others", Date.now)
    ]
    const { certPem, keyPem } = await authority.issue({ commonName: "db", sans: [{ type: "ip", value: address }] })
    giveCertificate(folder.path, certPem, keyPem)
    const query = (sql: string) => server?.query("postgres", sql) ?? Promise.resolve("")
    await query("ALTER SYSTEM SET ssl = on")
    await query("SELECT pg_reload_conf()")
    while ((await query("SHOW ssl")) !== "on");
    const url = (host: string) => Redacted.make(`postgresql://postgres:${password}@${host}/postgres`)
    const isByTls = Effect.flatMap(
      openPostgres({ url: url(address), authority: authority.caPem }),
      (sql) => sql`SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()`
    )
    expect(await Effect.runPromise(Effect.scoped(isByTls))).toEqual([{ ssl: true }])
    const refused = await Promise.all(
      [
        { url: url(address), authority: undefined },
        { url: url(address), authority: another.caPem },
        { url: url(otherAddress), authority: authority.caPem }
      ].map((one) => Effect.runPromise(Effect.flip(Effect.scoped(openUsageDatabase(one)))))
    )
    expect(refused[0]?.message).toMatch(/certificate/u)
    expect(refused[1]?.message).toMatch(/certificate/u)
    expect(refused[2]?.message).toContain(otherAddress)
  })
})
