import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { clusterSamples } from "../../../src/app/fleet/cluster-samples.ts"
import type { FleetCluster } from "../../../src/app/fleet/fleet-cluster.ts"
import { measure } from "../../../src/app/kernel/metrics.ts"
import { WatchLags } from "../../../src/app/kernel/watch-lags.ts"
import { exposition } from "../../../src/app/metrics/exposition.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { readSeries, scrapeAfterSession, separately } from "../../support/scrape.ts"

/** The stated bounds (docs/operating/observability.md): series of one cluster of a fleet, and all others. */
const maxOfCluster = 7
const maxOthers = 200

const now = Date.UTC(2026, 10, 21)

/** A cluster that has everything to tell. */
const cluster = (index: number): FleetCluster => ({
  name: clusterName(`cluster-${index}`),
  isDefault: index === 0,
  access: () => undefined,
  children: () => undefined,
  seenChildren: () => [],
  unreadableSince: () => now - 60_000,
  health: () => ({ askedAt: now - 3_000, checkedAt: now - 2_000, health: { _tag: "Error", message: "it is away" } }),
  branchFeatures: () => undefined,
  reach: () => ({ reachable: false, error: "it is away", askedAt: now - 3_000 }),
  credentials: () => ({ auth: "eks", until: now + 90_000, failures: 2 }),
  since: () => 0,
  ending: () => undefined
})

describe("the number of time series", () => {
  it.live("stays within its bound in a fleet of 1,000 clusters", () =>
    Effect.gen(function* () {
      const clusters = Array.from({ length: 1_000 }, (_, index) => cluster(index))
      const watches = new WatchLags()
      for (const { name } of clusters) watches.add({ cluster: name, heardAt: 0 })
      yield* measure(() => [...clusters.flatMap((one) => clusterSamples(one, now)), ...watches.samples(1_000)])
      const began = performance.now()
      const text = yield* exposition
      const took = performance.now() - began
      const ofFleet = readSeries(text)
      const others = readSeries(yield* Effect.promise(() => Effect.runPromise(scrapeAfterSession))).filter(
        ({ name }) => !name.startsWith("braid_cluster_")
      )
      console.log(
        `time series with 1,000 clusters: ${ofFleet.length} of clusters (${took.toFixed(0)} ms to write), ` +
          `${others.length} others`
      )
      assert.strictEqual(ofFleet.length, maxOfCluster * clusters.length)
      assert.isAtMost(others.length, maxOthers)
    }).pipe(Effect.scoped, separately)
  )
})

describe("the metrics of a cluster", () => {
  it("say that it is away, for how long, and when its credentials end", () => {
    assert.deepStrictEqual(
      clusterSamples(cluster(7), now).map(({ labels, name, value }) => [name, labels, value]),
      [
        ["braid_cluster_connected", { cluster: "cluster-7" }, 0],
        ["braid_cluster_probe_age_seconds", { cluster: "cluster-7" }, 2],
        ["braid_cluster_probe_duration_seconds", { cluster: "cluster-7" }, 1],
        ["braid_cluster_unreadable_seconds", { cluster: "cluster-7" }, 60],
        ["braid_cluster_credential_expiry_seconds", { cluster: "cluster-7", auth: "eks", renewal: "operator" }, 90],
        ["braid_cluster_credential_failures", { cluster: "cluster-7" }, 2]
      ]
    )
  })

  it("say whether people have to see to their credentials, and whether it is time", () => {
    const renewal = (life: number): string | undefined => {
      const validity = { from: now - 80_000, until: now - 80_000 + life }
      const ending = { what: "its certificate", validity, cure: "write another" }
      const samples = clusterSamples({ ...cluster(7), ending: () => ending }, now)
      return samples.flatMap(({ labels }) => ("renewal" in labels ? [labels.renewal] : []))[0]
    }
    // People are told when a fifth of so short a life is left.
    assert.deepStrictEqual([renewal(99_000), renewal(101_000)], ["due", "later"])
  })

  it("leave out what is not known before the first check", () => {
    const fresh: FleetCluster = {
      ...cluster(7),
      unreadableSince: () => undefined,
      health: () => undefined,
      reach: () => ({ reachable: true, error: undefined, isConnecting: true }),
      credentials: () => undefined
    }
    assert.deepStrictEqual(
      clusterSamples(fresh, now).map(({ name, value }) => [name, value]),
      [
        ["braid_cluster_connected", 0],
        ["braid_cluster_unreadable_seconds", 0]
      ]
    )
  })
})
