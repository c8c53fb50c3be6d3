import { Effect, Exit, Scope } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import type { ConfigurationSource } from "../../../../src/app/fleet/configuration-source.ts"
import { runShard } from "../../../../src/app/fleet/sharding/shard.ts"
import { sha256Hex } from "../../../../src/app/kernel/sha256-hex.ts"
import { watchLeases } from "../../../../src/app/sharding/seen-leases.ts"
import { bePresent } from "../../../../src/app/sharding/share.ts"
import { clusterName } from "../../../../src/domain/fleet/cluster-name.ts"
import type { FleetConfiguration } from "../../../../src/domain/fleet/configuration.ts"
import { clusterLeaseName } from "../../../../src/domain/fleet/sharding/cluster-leases.ts"
import { reportName } from "../../../../src/domain/fleet/sharding/report-names.ts"
import { at } from "../../../../src/domain/json.ts"
import { podNameOf } from "../../../../src/domain/leadership/identity.ts"
import { configMaps, leases } from "../../../../src/domain/resources/core-kinds.ts"
import { rendezvousOwner } from "../../../../src/domain/sharding/rendezvous.ts"
import { replicaLeaseName } from "../../../../src/domain/sharding/shard-leases.ts"
import { ClusterConnector } from "../../../../src/ports/cluster-connector.ts"
import { it } from "../../../support/effect-it.ts"
import { configurationOf, giveCredentials, operatorNamespace as namespace } from "../../../support/fleet.ts"
import { MemoryKubeApi } from "../../../support/memory-kube-api.ts"
import { day0, workloadCluster } from "../../sessions/session-fleet.ts"

const names = ["a", "b", "c", "d", "e", "f"]
const events = { group: "", version: "v1", plural: "events", scope: "Namespaced" } as const

const start = Effect.gen(function* () {
  yield* TestClock.setTime(day0)
  const own = new MemoryKubeApi("primary")
  const members = new Map(names.map((name) => [name, workloadCluster(name)]))
  for (const name of names) giveCredentials(own, name)
  let configuration = configurationOf(names)
  const listeners = new Set<() => void>()
  const source: ConfigurationSource = {
    known: () => configuration,
    verdict: () => ({ since: 0, problems: [] }),
    listen: (changed) => {
      listeners.add(changed)
      return () => void listeners.delete(changed)
    }
  }
  /** The pods that are connected to each cluster. */
  const connected = new Map<string, Set<string>>()
  const replica = (name: string, weight = 1) =>
    Effect.gen(function* () {
      const at = { api: own, namespace, pod: { name, uid: `uid-of-${name}` } }
      const sharer = { ...at, seen: yield* watchLeases(at), presentSince: yield* bePresent(at, weight) }
      return yield* runShard(sharer, source)
    }).pipe(
      Effect.provideService(ClusterConnector, {
        own: { api: own, link: () => Effect.die("none") },
        member: (member) =>
          Effect.acquireRelease(
            Effect.sync(() => {
              connected.set(member.name, (connected.get(member.name) ?? new Set()).add(name))
              const api = members.get(member.name) ?? own
              return { api, link: () => Effect.die("none"), reauthenticate: () => {} }
            }),
            () => Effect.sync(() => void connected.get(member.name)?.delete(name))
          )
      })
    )
  const holderOf = (lease: string) => {
    const holder = at(own.peek(leases, lease, namespace), "spec", "holderIdentity")
    return typeof holder === "string" && holder !== "" ? podNameOf(holder) : undefined
  }
  return {
    own,
    members,
    connected: () => Object.fromEntries([...connected].map(([cluster, by]) => [cluster, [...by]])),
    /** Starts a replica, which can be stopped as a pod is. */
    begin: (name: string, weight?: number) =>
      Effect.gen(function* () {
        const scope = yield* Scope.make()
        yield* Effect.forkIn(Effect.scoped(replica(name, weight)), scope)
        return { stop: Scope.close(scope, Exit.void) }
      }),
    owners: () =>
      Object.fromEntries(names.map((name) => [name, holderOf(clusterLeaseName(clusterName(name), sha256Hex))])),
    isPresent: (name: string) => holderOf(replicaLeaseName({ name, uid: "" })) === name,
    change: (next: FleetConfiguration) =>
      Effect.sync(() => {
        configuration = next
        for (const listener of listeners) listener()
      })
  }
})

const seconds = (count: number) =>
  Effect.forEach(Array.from({ length: count }), () => TestClock.adjust("1 second"), { discard: true })

/** The owners that clusters are to have. */
const sharedBy = (...replicas: ReadonlyArray<string>): Readonly<Record<string, string | undefined>> => {
  const weighted = replicas.map((name) => ({ name, weight: 1 }))
  return Object.fromEntries(names.map((name) => [name, rendezvousOwner(clusterName(name), weighted, sha256Hex)]))
}
const connectedAs = (owners: Readonly<Record<string, string | undefined>>) =>
  Object.fromEntries(Object.entries(owners).map(([cluster, owner]) => [cluster, owner === undefined ? [] : [owner]]))

describe("the shard of a replica", () => {
  it.effect("is all clusters where it is alone, after a moment in which it waits for others", function* () {
    const { begin, connected, isPresent, own, owners } = yield* start
    yield* begin("one")
    yield* seconds(2)
    expect([isPresent("one"), connected()]).toEqual([true, {}])
    yield* seconds(8)
    expect(owners()).toEqual(sharedBy("one"))
    expect(connected()).toEqual(connectedAs(sharedBy("one")))
    for (const name of names)
      expect(own.peek(configMaps, reportName(clusterName(name), sha256Hex), namespace), name).toBeDefined()
  })

  it.effect(
    "is shared with a replica that comes: it gives up what is the other's, and each cluster has one owner",
    function* () {
      const { begin, connected, owners } = yield* start
      yield* begin("one")
      yield* seconds(10)
      yield* begin("two")
      for (let i = 0; i < 40; i++) {
        yield* seconds(1)
        for (const [cluster, by] of Object.entries(connected())) expect(by.length, cluster).toBeLessThanOrEqual(1)
      }
      const shared = sharedBy("one", "two")
      expect(new Set(Object.values(shared))).toEqual(new Set(["one", "two"]))
      expect([owners(), connected()]).toEqual([shared, connectedAs(shared)])
    }
  )

  it.effect(
    "takes the clusters of a replica that stops at once, and those of one that is silent when its Leases end",
    function* () {
      const { begin, connected, own, owners } = yield* start
      yield* begin("one")
      const { stop } = yield* begin("two")
      yield* seconds(30)
      expect(owners()).toEqual(sharedBy("one", "two"))
      yield* stop
      yield* seconds(8)
      expect(connected()).toEqual(connectedAs(sharedBy("one")))
      // A replica whose requests do not arrive any more.
      yield* begin("three")
      yield* seconds(40)
      expect(connected()).toEqual(connectedAs(sharedBy("one", "three")))
      own.before = ({ body, verb }) =>
        verb !== "get" && JSON.stringify(body ?? {}).includes("three_") ? Effect.never : Effect.void
      yield* seconds(60)
      expect(owners()).toEqual(sharedBy("one"))
      expect(connected()).toEqual(connectedAs(sharedBy("one")))
    }
  )

  it.effect("loses a cluster that leaves the fleet, with its Lease and its report", function* () {
    const { begin, change, connected, own, owners } = yield* start
    yield* begin("one")
    yield* seconds(10)
    const [gone, ...others] = names
    yield* change(configurationOf(others))
    yield* seconds(5)
    expect(connected()[gone ?? ""]).toEqual([])
    expect(owners()).toEqual({ ...sharedBy("one"), [gone ?? ""]: undefined })
    expect(own.peek(configMaps, reportName(clusterName(gone ?? ""), sha256Hex), namespace)).toBeUndefined()
    expect(own.peek(leases, clusterLeaseName(clusterName(gone ?? ""), sha256Hex), namespace)).toBeUndefined()
  })

  it.effect("is told of by Events on its clusters", function* () {
    const { begin, own } = yield* start
    yield* begin("one")
    yield* seconds(10)
    giveCredentials(own, "a", "two words are no token")
    yield* seconds(10)
    const told = own.peekAll(events).map((event) => [event["reason"], at(event, "involvedObject", "name")])
    expect(told).toEqual([["CredentialsFailed", "a"]])
  })
})
