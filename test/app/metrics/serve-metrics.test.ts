import { once } from "node:events"
import { connect } from "node:net"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Scope } from "effect"
import { beforeAll } from "vitest"
import { measure } from "../../../src/app/kernel/metrics.ts"
import { serveMetrics } from "../../../src/app/metrics/serve-metrics.ts"
import { metricCatalogue, type MetricFamily } from "../../../src/domain/metrics/catalogue.ts"
import { canary, readSeries, scrapeAfterSession, scraper, separately, type Series } from "../../support/scrape.ts"
import { until } from "../../support/until.ts"

/** The family of a series: a histogram has several. */
const familyOf = ({ name }: Series): string =>
  name.replace(/^(mirrord_\w+duration|\w+latency_seconds)_(bucket|sum|count)$/u, "$1")

describe("a scrape of operators that have served a session", () => {
  let text = ""
  let series: ReadonlyArray<Series> = []
  const valueOf = (name: string, labels: Series["labels"] = {}): number | undefined =>
    series.find(
      (one) => one.name === name && Object.entries(labels).every(([label, value]) => one.labels[label] === value)
    )?.value

  beforeAll(async () => {
    text = await Effect.runPromise(scrapeAfterSession)
    series = readSeries(text)
  })

  it("shows each metric of the catalogue, with its type and its labels, and no other", () => {
    const types = Object.fromEntries(
      [...text.matchAll(/^# TYPE (\w+) (\w+)$/gmu)].map(([, name, type]) => [name, type])
    )
    // Those of queues: queues/shown-splits.test.ts.
    const catalogue = Object.entries<MetricFamily>(metricCatalogue).filter(([name]) => !/sqs|queue/u.test(name))
    assert.deepStrictEqual(types, Object.fromEntries(catalogue.map(([name, { type }]) => [name, type])))
    for (const one of series) {
      const { labels } = (metricCatalogue as Readonly<Record<string, MetricFamily>>)[familyOf(one)] ?? { labels: [] }
      const ofBucket = one.name.endsWith("_bucket") ? ["le"] : []
      assert.deepStrictEqual(Object.keys(one.labels).toSorted(), [...labels, ...ofBucket].toSorted(), one.name)
    }
  })

  it("tells the clusters, the session and the messages as they are", () => {
    assert.strictEqual(valueOf("braid_cluster_connected", { cluster: "a" }), 1)
    assert.strictEqual(valueOf("braid_cluster_unreadable_seconds", { cluster: "a" }), 0)
    assert.isBelow(valueOf("braid_watch_lag_seconds", { cluster: "a" }) ?? Infinity, 60)
    assert.strictEqual(valueOf("braid_sessions", { kind: "multi_cluster", phase: "Ready" }), 1)
    assert.strictEqual(valueOf("mirrord_sessions_create_total"), 1)
    // The client at the primary, and the primary's links to two members, all in this process.
    assert.strictEqual(valueOf("braid_session_acts_total", { act: "connected" }), 3)
    assert.strictEqual(valueOf("braid_links_opened_total", { to: "cluster" }), 2)
    assert.approximately(valueOf("braid_cluster_credential_expiry_seconds", { cluster: "a" }) ?? 0, 3_580, 20)
    assert.strictEqual(valueOf("braid_cluster_credential_expiry_seconds", { cluster: "b" }), undefined)
    assert.strictEqual(valueOf("braid_dropped_messages_total", { reason: "malformedClientMessage" }), 1)
    assert.isAtLeast(valueOf("braid_messages_total", { from: "client" }) ?? 0, 3)
    assert.isAtLeast(valueOf("braid_message_bytes_total", { from: "member" }) ?? 0, 1)
    assert.strictEqual(valueOf("braid_people_requests", { cluster: "a" }), 1)
    assert.strictEqual(valueOf("braid_people_requests_total", { cluster: "a", kind: "read", code: "200" }), 1)
    assert.strictEqual(valueOf("braid_people_requests_total", { cluster: "left" }), undefined)
    assert.strictEqual(valueOf("braid_leader"), 1)
    assert.isAbove(valueOf("process_resident_memory_bytes") ?? 0, 1e6)
  })

  it("names no user, no session, no workload and no credential", () => {
    const parts = (label: string): ReadonlyArray<string> => series.flatMap(({ labels }) => labels[label] ?? [])
    for (const word of ["00000000000000ff", "developers", "myapp", "laptop", canary]) assert.notInclude(text, word)
    assert.deepStrictEqual([...new Set(parts("cluster"))].toSorted(), ["a", "b", "primary"])
  })
})

describe("the port of metrics", () => {
  it.live("answers GET /metrics in the form of Prometheus, and nothing else", () =>
    Effect.gen(function* () {
      const { get } = yield* scraper()
      const { status, type } = yield* get("/metrics")
      assert.strictEqual(status, 200)
      assert.strictEqual(type, "text/plain; version=0.0.4; charset=utf-8")
      assert.strictEqual((yield* get("/")).status, 404)
      assert.strictEqual((yield* get("/apis")).status, 404)
    }).pipe(Effect.scoped, separately)
  )

  it.live("tells that a replica stands by", () =>
    Effect.gen(function* () {
      const { scrape } = yield* scraper(() => false)
      assert.include(yield* scrape, "\nbraid_leader 0\n")
    }).pipe(Effect.scoped, separately)
  )

  it.live("is refused with a sentence where it is taken", () =>
    Effect.gen(function* () {
      const { port } = yield* scraper()
      const taken = { host: "127.0.0.1", port, fallback: undefined, leads: () => true }
      assert.match((yield* Effect.flip(serveMetrics(taken))).message, /^metrics cannot be served: .*EADDRINUSE/u)
    }).pipe(Effect.scoped, separately)
  )

  it.live("has room again after scrapers that send nothing, or read nothing, have taken all of it", () =>
    Effect.gen(function* () {
      // More than the buffers of a connection hold.
      const long = Array.from({ length: 8_000 }, (_, index) => ({
        kind: "multi_cluster",
        phase: `${index} ${"x".repeat(1_000)}`
      }))
      yield* measure(() => long.map((labels) => ({ name: "braid_sessions", labels, value: 1 })))
      const { get, port } = yield* scraper(() => true, 200)
      const sockets = Array.from({ length: 20 }, (_, index) => {
        const socket = connect(port, "127.0.0.1").on("error", () => {})
        socket.pause()
        if (index % 2 === 0) socket.write("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n")
        return socket
      })
      yield* Effect.addFinalizer(() => Effect.sync(() => sockets.forEach((socket) => socket.destroy())))
      yield* Effect.promise(() => Promise.all(sockets.map((socket) => once(socket, "connect"))))
      const status = yield* Effect.promise(() =>
        until("another scraper is served", () =>
          Effect.runPromise(get("/metrics")).then(
            ({ status }) => status,
            () => undefined
          )
        )
      )
      assert.strictEqual(status, 200)
    }).pipe(Effect.scoped, separately)
  )

  it.live("forgets what is gone: a cluster that leaves takes its series with it", () =>
    Effect.gen(function* () {
      const { scrape } = yield* scraper()
      const scope = yield* Scope.make()
      const sample = { name: "braid_cluster_connected", labels: { cluster: "gone" }, value: 1 } as const
      yield* Scope.provide(
        measure(() => [sample]),
        scope
      )
      assert.include(yield* scrape, 'braid_cluster_connected{cluster="gone"} 1')
      yield* Scope.close(scope, Exit.void)
      assert.notInclude(yield* scrape, "gone")
    }).pipe(Effect.scoped, separately)
  )
})
