import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { type ClusterName, clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { rendezvousOwner } from "../../../src/domain/sharding/rendezvous.ts"
import { movesAtOnce, type ObservedShards, shardPlan } from "../../../src/domain/sharding/shard-plan.ts"

const clusters = Array.from({ length: 60 }, (_, i) => clusterName(`c${i}`))
const names = ["r0", "r1", "r2"] as const
const replicas = names.map((name) => ({ name, weight: 1 }))
const ownerOf = (cluster: ClusterName) => rendezvousOwner(cluster, replicas, sha256Hex)
const observed = (shards: Partial<ObservedShards<ClusterName>>): ObservedShards<ClusterName> => ({
  self: "r0",
  replicas,
  things: clusters,
  holders: new Map(),
  held: new Set(),
  sha256Hex,
  ...shards
})
const heldBy = (holders: ReadonlyMap<ClusterName, string>, self: string) =>
  new Set([...holders].flatMap(([cluster, holder]) => (holder === self ? [cluster] : [])))

/** Clusters with holders, some free. */
const holdersArbitrary = fc
  .array(fc.constantFrom(...names, undefined), { minLength: clusters.length, maxLength: clusters.length })
  .map(
    (drawn) =>
      new Map(
        clusters.flatMap((cluster, i) => {
          const holder = drawn[i]
          return holder === undefined ? [] : [[cluster, holder] as const]
        })
      )
  )

describe("the plan of a replica", () => {
  it("takes free clusters of its own, and none that another replica holds", () =>
    fc.assert(
      fc.property(holdersArbitrary, (holders) => {
        const { take } = shardPlan(observed({ holders, held: heldBy(holders, "r0") }))
        expect(take).toEqual(clusters.filter((cluster) => !holders.has(cluster) && ownerOf(cluster) === "r0"))
      })
    ))

  it("gives up what is another's, and leaves no more than ten without an owner", () =>
    fc.assert(
      fc.property(holdersArbitrary, (holders) => {
        const held = heldBy(holders, "r0")
        const { giveUp } = shardPlan(observed({ holders, held }))
        const free = clusters.length - holders.size
        expect(giveUp.every((cluster) => held.has(cluster) && ownerOf(cluster) !== "r0")).toBe(true)
        expect(giveUp.length === 0 || free + giveUp.length <= movesAtOnce).toBe(true)
      })
    ))

  it("ends with each cluster at its owner, from wherever it begins", () =>
    fc.assert(
      fc.property(holdersArbitrary, (begin) => {
        const holders = new Map(begin)
        // Until each replica has had a turn in which it changed nothing.
        for (let turn = 0, quiet = 0; turn < 200 && quiet < names.length; turn++) {
          const self = names[turn % names.length] ?? "r0"
          const { giveUp, take } = shardPlan(observed({ self, holders, held: heldBy(holders, self) }))
          for (const cluster of giveUp) holders.delete(cluster)
          for (const cluster of take) holders.set(cluster, self)
          quiet = giveUp.length + take.length === 0 ? quiet + 1 : 0
        }
        expect([...clusters].map((cluster) => holders.get(cluster))).toEqual(clusters.map(ownerOf))
      })
    ))

  it("keeps what it has and takes nothing while its own Lease is not seen", () => {
    const held = new Set(clusters.slice(0, 5))
    const alone = {
      replicas: replicas.slice(1),
      held,
      holders: new Map([...held].map((name) => [name, "r0"] as const))
    }
    expect(shardPlan(observed(alone))).toEqual({ take: [], giveUp: [] })
  })

  it("takes the Lease of an earlier process of its pod", () => {
    const holders = new Map(clusters.map((cluster) => [cluster, ownerOf(cluster) ?? ""] as const))
    expect(shardPlan(observed({ holders })).take).toEqual(clusters.filter((cluster) => ownerOf(cluster) === "r0"))
  })

  it("gives up at once what has left the fleet", () => {
    const gone = clusterName("gone")
    expect(shardPlan(observed({ held: new Set([gone]), replicas: [] })).giveUp).toEqual([gone])
  })
})
