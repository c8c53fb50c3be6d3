import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { watchLeases } from "../../../src/app/sharding/seen-leases.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { clusterLeaseMetadata, clusterLeaseName } from "../../../src/domain/fleet/sharding/cluster-leases.ts"
import { leases } from "../../../src/domain/resources/core-kinds.ts"
import { replicaLeaseMetadata, replicaLeaseName } from "../../../src/domain/sharding/shard-leases.ts"
import { it } from "../../support/effect-it.ts"
import { operatorNamespace as namespace } from "../../support/fleet.ts"
import { MemoryKubeApi } from "../../support/memory-kube-api.ts"

const a = clusterLeaseName(clusterName("a"), sha256Hex)
const podOf = (name: string) => ({ name, uid: `uid-of-${name}` })

const start = Effect.gen(function* () {
  const api = new MemoryKubeApi("primary")
  let [changes, renewals] = [0, 0]
  const write = (name: string, metadata: object, holder: string) =>
    Effect.andThen(
      Effect.sync(() =>
        api.write(
          leases,
          name,
          {
            metadata,
            spec: {
              holderIdentity: holder,
              leaseTransitions: 1,
              renewTime: `renewal ${renewals++}`,
              leaseDurationSeconds: 20
            }
          },
          namespace
        )
      ),
      TestClock.adjust(1)
    )
  const replica = (name: string, weight = 1, holder = `${name}_uid_process`) =>
    write(replicaLeaseName(podOf(name)), replicaLeaseMetadata(podOf(name), weight), holder)
  const cluster = (holder: string) => write(a, clusterLeaseMetadata, holder)
  yield* replica("one", 3)
  const seen = yield* watchLeases({ api, namespace })
  seen.listen(() => void changes++)
  yield* seen.awaitSynced
  return { api, seen, replica, cluster, changes: () => changes }
})

describe("the Leases of sharding, as a replica sees them", () => {
  it.effect("name the replicas that live with their weights; one that is silent or has left is none", function* () {
    const { api, replica, seen } = yield* start
    yield* replica("two")
    expect(seen.replicas()).toEqual([
      { name: "one", weight: 3 },
      { name: "two", weight: 1 }
    ])
    yield* TestClock.adjust("15 seconds")
    yield* replica("two")
    yield* TestClock.adjust("15 seconds")
    expect(seen.replicas(), "silent for half a minute").toEqual([{ name: "two", weight: 1 }])
    yield* replica("two", 1, "")
    expect(seen.replicas(), "has given its Lease up").toEqual([])
    yield* replica("two")
    api.erase(leases, replicaLeaseName(podOf("two")), namespace)
    yield* TestClock.adjust(1)
    expect(seen.replicas()).toEqual([])
  })

  it.effect("say whose a cluster is, and for how long it is nobody's", function* () {
    const { cluster, replica, seen } = yield* start
    yield* TestClock.adjust("3 seconds")
    expect(seen.holderOf(a)).toBeUndefined()
    // Nobody is known to have owned it before this process began to look.
    expect(Math.floor(seen.freeFor(a) / 1_000)).toBe(3)
    yield* cluster("one_uid_process")
    expect([seen.holderOf(a), seen.freeFor(a)]).toEqual(["one", 0])
    expect(seen.leaseOf(a)?.record.holder).toBe("one_uid_process")
    yield* TestClock.adjust("27 seconds")
    expect(seen.holderOf(a), "its owner is silent").toBeUndefined()
    expect(seen.freeFor(a)).toBeGreaterThanOrEqual(6_900)
    yield* cluster("one_uid_process")
    expect(seen.holderOf(a), "and is heard again").toBe("one")
    yield* cluster("")
    expect(seen.holderOf(a), "it was given up").toBeUndefined()
    yield* replica("one")
    expect(seen.replicas(), "a cluster's Lease is no replica's").toEqual([{ name: "one", weight: 1 }])
  })

  it.effect("are news when one changes hands, and not when it is renewed", function* () {
    const { api, changes, cluster } = yield* start
    yield* cluster("one_uid_process")
    const before = changes()
    for (let i = 0; i < 5; i++) yield* cluster("one_uid_process")
    expect(changes()).toBe(before)
    yield* cluster("two_uid_process")
    expect(changes()).toBe(before + 1)
    api.erase(leases, a, namespace)
    yield* TestClock.adjust(1)
    expect(changes()).toBe(before + 2)
  })
})
