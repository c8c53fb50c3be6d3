/** The record of use over operators in memory, with the real store: each session once, whatever is restarted. */

import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { openUsageFile } from "../../../src/adapters/usage/usage-store.ts"
import type { OperatorFacade } from "../../../src/app/api/operator-facade.ts"
import type { UsageKept } from "../../../src/app/usage/usage-keeping.ts"
import type { HealthReport } from "../../../src/domain/usage/health-report.ts"
import type { UsageReport } from "../../../src/domain/usage/usage-report.ts"
import type { UsageTrends } from "../../../src/domain/usage/usage-trends.ts"
import { UsageStoreError } from "../../../src/ports/usage-store.ts"
import { pass, request } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { type MemoryCluster, memoryWorld, openConnection } from "../../support/memory-world.ts"
import { certificateOf } from "../../support/user-certificate.ts"

const morning = Date.UTC(2026, 10, 29, 9)

/** A store in a file for each cluster, which can be kept from being opened. */
const stores = () => {
  const folder = mkdtempSync(join(tmpdir(), "braid-usage-"))
  const away = new Set<string>()
  const kept = (cluster: string): UsageKept => ({
    open: Effect.suspend(() =>
      away.has(cluster)
        ? Effect.fail(new UsageStoreError({ operation: "open", detail: "the volume is read-only" }))
        : openUsageFile(join(folder, `${cluster}.db`))
    ),
    workbook: (sheets) => Effect.succeed(new TextEncoder().encode(sheets.map(({ name }) => name).join())),
    version: "1.2.3"
  })
  return { away, kept }
}

const start = Effect.fnUntraced(function* () {
  const { away, kept } = stores()
  yield* TestClock.setTime(morning)
  const world = yield* memoryWorld({}, { usage: kept })
  yield* pass("2 seconds")
  return { ...world, away }
})

const operatorOf = ({ operator }: MemoryCluster): OperatorFacade["Service"] => operator ?? expect.fail("no operator")

const answer = (cluster: MemoryCluster, query: string, which: "usage" | "trends" | "clusters" = "usage") =>
  operatorOf(cluster).usageReport(which, new URLSearchParams(query))

const report = (cluster: MemoryCluster, query = "format=json") =>
  Effect.map(answer(cluster, query), ({ body }) => JSON.parse(String(body)) as UsageReport)

const health = (cluster: MemoryCluster, query = "format=json") =>
  Effect.map(answer(cluster, query, "clusters"), ({ body }) => JSON.parse(String(body)) as HealthReport)

/** Connects, and returns how to leave. */
const connect = Effect.fnUntraced(function* (cluster: MemoryCluster, sessionId: string) {
  const scope = yield* Scope.make()
  const certificate = yield* certificateOf(cluster)
  const query = "connect=true&on_concurrent_steal=abort&key=abc12&session_ci_info=%7B%22provider%22%3A%22x%22%7D"
  const isOfCi = Number(sessionId) % 2 === 1
  yield* openConnection(cluster, request(certificate, { sessionId, ...(isOfCi ? { query } : {}) })).pipe(
    Scope.provide(scope),
    Effect.forkChild
  )
  yield* pass("3 seconds")
  return Scope.close(scope, Exit.void)
})

describe("the record of use", () => {
  it.effect("has a session over clusters once, at the primary, across a restart of its operator", function* () {
    const world = yield* start()
    const { members, primary } = world
    const leave = yield* connect(primary, "254")
    expect(yield* report(primary)).toMatchObject({
      generalMetrics: { activeUsers: 1, clusterName: "primary", clusters: ["a", "b"], operatorVersion: "1.2.3" },
      liveMetrics: { userSessions: 1, ciSessions: 0 },
      clusterSetMetrics: [{ clusters: ["a", "b"], totalSessionCount: 1 }]
    })
    for (const member of members.values()) expect((yield* report(member)).allTimeMetrics.totalSessionCount).toBe(0)
    yield* leave
    yield* world.kill(primary)
    yield* pass("30 seconds")
    yield* world.start(primary)
    yield* pass("10 minutes")
    const after = yield* report(primary)
    expect(after.liveMetrics.userSessions).toBe(0)
    expect(after.allTimeMetrics.totalSessionCount).toBe(1)
    expect(after.userMetrics).toMatchObject([{ displayName: "Ann@laptop", totalSessionCount: 1 }])
    const { body } = yield* answer(primary, "days=2", "trends")
    expect((JSON.parse(String(body)) as UsageTrends).dailySessions).toMatchObject([{ date: "2026-11-29", count: 1 }])
  })

  it.effect("ends a session of one cluster when its user stops it", function* () {
    const { members } = yield* start()
    const a = members.get("a") ?? expect.fail("no a")
    yield* Effect.asVoid(connect(a, "255"))
    yield* pass("100 seconds")
    yield* operatorOf(a).deleteSession("FF", { user: "ann", groups: [], extra: {} })
    yield* pass("5 minutes")
    const { allTimeMetrics, ciMetrics } = yield* report(a)
    expect([allTimeMetrics.totalSessionCount, allTimeMetrics.totalCiSessionCount]).toEqual([0, 1])
    expect(ciMetrics.currentRunningSessions).toBe(0)
    expect(ciMetrics.avgCiSessionDurationSeconds).toBeGreaterThanOrEqual(100)
    expect(ciMetrics.avgCiSessionDurationSeconds).toBeLessThan(110)
  })

  it.effect("waits for its store, and loses no session that ended meanwhile", function* () {
    const world = yield* start()
    const { away, primary } = world
    away.add("primary")
    yield* world.kill(primary)
    yield* world.start(primary)
    yield* pass("2 seconds")
    const leave = yield* connect(primary, "254")
    expect((yield* Effect.flip(report(primary))).message).toContain("the volume is read-only")
    yield* leave
    yield* pass("10 minutes")
    away.clear()
    yield* pass("1 minute")
    const { allTimeMetrics, liveMetrics } = yield* report(primary)
    expect([allTimeMetrics.totalSessionCount, liveMetrics.userSessions]).toEqual([1, 0])
  })

  it.effect("closes a store that cannot be read, and opens it again", function* () {
    let open = 0
    let readable = false
    const { kept } = stores()
    const usage = (cluster: string): UsageKept => ({
      ...kept(cluster),
      open: Effect.acquireRelease(
        Effect.sync(() => open++),
        () => Effect.sync(() => open--)
      ).pipe(
        Effect.andThen(kept(cluster).open),
        Effect.map((store) => ({
          ...store,
          open: Effect.suspend(() =>
            readable
              ? store.open
              : Effect.fail(new UsageStoreError({ operation: "read", detail: "the disk does not answer" }))
          )
        }))
      )
    })
    const { primary } = yield* memoryWorld({}, { usage: (name) => (name === "primary" ? usage(name) : undefined) })
    yield* pass("5 minutes")
    expect(open).toBe(0)
    readable = true
    yield* pass("1 minute")
    expect([open, (yield* report(primary)).allTimeMetrics.totalSessionCount]).toEqual([1, 0])
  })

  it.effect("answers in each format, and refuses what it does not understand", function* () {
    const { primary } = yield* start()
    yield* Effect.asVoid(connect(primary, "254"))
    const csv = yield* answer(primary, "format=csv&primary_key=client_username")
    expect(csv.contentType).toContain("text/csv")
    expect(String(csv.body).split("\r\n")[1]).toMatch(/^Ann,Ann,2026-11-29T09:00:0.*Z,/u)
    const xlsx = yield* answer(primary, "format=xlsx")
    expect(new TextDecoder().decode(xlsx.body as Uint8Array)).toBe("General,Users")
    expect(String((yield* answer(primary, "format=debug")).body)).toContain('"recentRecords":[{"id":"FE"')
    expect(yield* Effect.flip(answer(primary, "format=pdf"))).toMatchObject({ code: 400 })
    expect(yield* Effect.flip(answer(primary, "days=0", "trends"))).toMatchObject({ code: 400 })
  })

  it.effect("has the clusters' health, which is unknown while no operator of the primary runs", function* () {
    const world = yield* start()
    const { members, primary, ways } = world
    const b = members.get("b") ?? expect.fail("no b")
    yield* pass("10 minutes")
    yield* ways.cut(b)
    yield* pass("5 minutes")
    ways.mend(b)
    yield* pass("10 minutes")
    yield* world.kill(primary)
    yield* pass("10 minutes")
    yield* world.start(primary)
    yield* pass("5 minutes")
    const { clusters } = yield* health(primary)
    expect(clusters.map(({ cluster }) => cluster)).toEqual(["a", "b"])
    for (const { knownMillis, unknownMillis } of clusters) {
      expect(knownMillis).toBeGreaterThan(28 * 60_000)
      expect(knownMillis).toBeLessThanOrEqual(30 * 60_000 + 5_000)
      expect(unknownMillis).toBeGreaterThanOrEqual(10 * 60_000)
      expect(unknownMillis).toBeLessThan(11 * 60_000 + 10_000)
    }
    expect(clusters[0]).toMatchObject({ readyShare: 1, outages: { count: 0, last: null } })
    const { outages, readyShare } = clusters[1] ?? expect.fail("no b")
    expect(readyShare).toBeLessThan(0.9)
    expect(outages).toMatchObject({
      count: 1,
      last: { reason: "Lost", to: expect.stringMatching(/^2026-11-29T09:15/u) }
    })
    expect(Math.abs(outages.totalMillis - 5 * 60_000)).toBeLessThan(20_000)
    expect(String((yield* answer(primary, "format=csv", "clusters")).body)).toMatch(/^cluster,readyShare/u)
    const xlsx = yield* answer(primary, "format=xlsx", "clusters")
    expect(new TextDecoder().decode(xlsx.body as Uint8Array)).toBe("Clusters,Days")
    expect(yield* Effect.flip(answer(primary, "format=debug", "clusters"))).toMatchObject({ code: 400 })
    expect((yield* health(b)).clusters).toEqual([])
    const before = yield* health(primary, "format=json&from=2026-11-29T08:00:00Z&to=2026-11-29T08:30:00Z")
    expect(before.clusters.map((one) => [one.cluster, one.readyShare, one.unknownMillis, one.days])).toEqual([
      ["a", null, 1_800_000, []],
      ["b", null, 1_800_000, []]
    ])
  })

  it.effect("is not found where it is switched off", function* () {
    const { primary } = yield* memoryWorld()
    const error = yield* Effect.flip(answer(primary, "format=json"))
    expect([error.code, error.message]).toEqual([404, expect.stringContaining("dashboard.enabled")])
  })
})
