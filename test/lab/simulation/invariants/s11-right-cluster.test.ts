import { expect, it } from "vitest"
import { rightCluster } from "../../../../lab/simulation/invariants/s11-right-cluster.ts"
import { identityNamespace, pinsName } from "../../../../src/domain/fleet/cluster-identity.ts"
import { configMaps, namespaces } from "../../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../../src/domain/resources/mirrord-cluster-session.ts"
import { childObject, committed, find, parent } from "./fixture.ts"

const identity = (cluster: string, uid: string) =>
  committed(cluster, namespaces, { metadata: { name: identityNamespace, uid } })
const pins = (data: object) => committed("primary", configMaps, { metadata: { name: pinsName }, data })
const child = (cluster: string) => committed(cluster, mirrordClusterSessions, childObject(`${parent}-${cluster}`))

it("S11 finds a child in another cluster than the pinned one", () => {
  expect(find(rightCluster, [identity("b", "two"), pins({ b: "two" }), identity("b", "three"), child("b")])).toBe(
    "A child is made in three, although two is pinned for b."
  )
})

it("S11 finds a child in a cluster that has two names", () => {
  expect(find(rightCluster, [identity("a", "one"), identity("b", "one"), child("b")])).toBe(
    "A child is made in b, which is a as well."
  )
})

it("S11 holds for the pinned cluster, for one that is pinned again, and where none tells its identity", () => {
  const replaced = [identity("b", "two"), pins({ b: "two" }), identity("b", "three"), pins({ b: "three" }), child("b")]
  expect(find(rightCluster, [child("a"), ...replaced])).toBeUndefined()
})
