/** Invariants over members that replicas share (N23, N24). */

import { describe, expect, it } from "vitest"
import { oneOwnerActs } from "../../../../lab/simulation/invariants/n23-one-owner-acts.ts"
import { eachMemberIsOwned } from "../../../../lab/simulation/invariants/n24-each-member-is-owned.ts"
import { runningOwner } from "../../../../lab/simulation/invariants/shards.ts"
import type { World } from "../../../../lab/simulation/world/world.ts"
import { leases } from "../../../../src/domain/resources/core-kinds.ts"
import { called, find, findAtRest, makeWorld } from "./fixture.ts"

/** The primary has two replicas, which share the members a and b. */
const shared = (): World => {
  const world = makeWorld({
    replicas: { primary: 2 },
    sharding: true
  })
  world.pass(15_000)
  return world
}
const report = (process: string) =>
  called(
    1,
    { verb: "patch", resource: "configmaps", name: "mirrord-operator-report-a", operator: "primary", to: "primary" },
    process
  )
const token = (process: string) =>
  called(1, { verb: "create", resource: "serviceaccounts/token", operator: "primary", to: "a" }, process)

describe("N23", () => {
  it("holds for the owner of a member, and finds every other replica", () => {
    const world = shared()
    const owner = runningOwner(world, "a")?.process?.name ?? ""
    const other = owner.includes("r0") ? "operator-primary-r1-1" : "operator-primary-r0-1"
    for (const call of [report, token]) {
      expect(find(oneOwnerActs, [call(owner)], world)).toBeUndefined()
      expect(find(oneOwnerActs, [call(other)], world)).toContain("for a, which mirrord-operator-")
    }
  })
  it("says nothing where members are not shared", () =>
    expect(find(oneOwnerActs, [report("operator-primary-1")], makeWorld())).toBeUndefined())
})

describe("N24", () => {
  it("holds for members with an owner each, and where members are not shared", () => {
    expect(findAtRest(eachMemberIsOwned, shared())).toEqual([])
    expect(findAtRest(eachMemberIsOwned, makeWorld())).toEqual([])
  })
  it("finds a member that nobody owns, and one that is watched all the same", () => {
    const world = shared()
    world.primary.server.objects.write(
      leases,
      "mirrord-operator-cluster-a",
      { spec: { holderIdentity: "" } },
      "mirrord"
    )
    expect(findAtRest(eachMemberIsOwned, world)).toEqual(["Nobody owns a."])
    const smaller = shared()
    smaller.files.remove("b")
    expect(findAtRest(eachMemberIsOwned, smaller)).toEqual(["The replicas watch 2 members together, and there are 1."])
  })
})
