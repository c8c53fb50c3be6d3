import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { rendezvousOwner, type ShardReplica } from "../../../src/domain/sharding/rendezvous.ts"

const clusters = Array.from({ length: 1_000 }, (_, i) => clusterName(`cluster-${i}`))
const replica = (name: string, weight = 1): ShardReplica => ({ name, weight })
const ownersBy = (replicas: ReadonlyArray<ShardReplica>) =>
  clusters.map((cluster) => rendezvousOwner(cluster, replicas, sha256Hex))
const replicasArbitrary = fc.uniqueArray(
  fc.record({ name: fc.stringMatching(/^[a-z]{1,6}$/), weight: fc.integer({ min: 1, max: 9 }) }),
  { selector: ({ name }) => name, minLength: 1, maxLength: 5 }
)

describe("the owner of a cluster", () => {
  it("is nobody without replicas", () => expect(rendezvousOwner(clusterName("a"), [], sha256Hex)).toBeUndefined())

  it("follows weights", () => {
    const owners = ownersBy([replica("r0"), replica("r1", 2), replica("r2", 5)])
    const shareOf = (name: string) => owners.filter((owner) => owner === name).length / clusters.length
    expect(shareOf("r0")).toBeCloseTo(1 / 8, 1)
    expect(shareOf("r1")).toBeCloseTo(2 / 8, 1)
    expect(shareOf("r2")).toBeCloseTo(5 / 8, 1)
  })

  it("is the same in whichever order the replicas are known", () =>
    fc.assert(
      fc.property(replicasArbitrary, fc.string(), (replicas, name) => {
        const owner = (known: ReadonlyArray<ShardReplica>) => rendezvousOwner(clusterName(name), known, sha256Hex)
        expect(owner(replicas.toReversed())).toBe(owner(replicas))
      })
    ))

  it("changes only for clusters of a replica that left, and to a replica that came", () =>
    fc.assert(
      fc.property(replicasArbitrary, fc.string(), ([one, ...others], name) => {
        if (one === undefined) return
        const [before, after] = [[one, ...others], others].map((known) =>
          rendezvousOwner(clusterName(name), known, sha256Hex)
        )
        if (before !== one.name) expect(after).toBe(before)
      })
    ))
})
