/** Invariants over replicas and leaders (N13, N14, S10). */

import { describe, expect, it } from "vitest"
import { onlyLeadersAct } from "../../../../lab/simulation/invariants/n13-only-leaders-act.ts"
import { oneLabelledLeader } from "../../../../lab/simulation/invariants/n14-one-labelled-leader.ts"
import { noCallFromTheDead } from "../../../../lab/simulation/invariants/s10-no-call-from-the-dead.ts"
import { defaultPlan, World } from "../../../../lab/simulation/world/world.ts"
import { leases, pods } from "../../../../src/domain/resources/core-kinds.ts"
import { at, called, find, findAtRest, makeWorld } from "./fixture.ts"

/** The primary has two replicas, of which the first leads. */
const elected = (): World => {
  const world = new World({
    ...defaultPlan,
    seed: "test",
    clusters: [{ name: "a", pods: 1 }],
    defaultCluster: "a",
    replicas: { primary: 2 }
  })
  world.pass(5_000)
  expect(world.primary.host.leader?.process?.name).toBe("operator-primary-r0-1")
  return world
}
const first = "operator-primary-r0-1"
const second = "operator-primary-r1-1"
const label = (value: string | null) => ({ metadata: { labels: { "mirrord-operator-leader": value } } })

describe("N13", () => {
  const write = (process: string) => called(1, { verb: "patch", subresource: "status" }, process)
  it("finds a write, a link and a dial of who does not lead", () => {
    const world = elected()
    expect(find(onlyLeadersAct, [write(second)], world)).toContain(
      "but the Lease of primary is held by mirrord-operator-0-1"
    )
    for (const verb of ["create", "delete", "link", "dial"] as const)
      expect(find(onlyLeadersAct, [called(1, { verb }, second)], world)).toContain(verb)
    world.primary.server.objects.write(leases, "mirrord-operator", { spec: { holderIdentity: "somebody" } }, "mirrord")
    expect(find(onlyLeadersAct, [write(first)], world)).toContain("somebody else")
  })
  it("holds for the leader, for reads, for the Lease itself, and for taking the own label off", () => {
    const world = elected()
    const allowed = [
      write(first),
      called(1, { verb: "list" }, second),
      called(1, { verb: "patch", resource: "leases", name: "mirrord-operator" }, second),
      called(1, { verb: "patch", resource: "pods", name: "mirrord-operator-1-1", body: label(null) }, second)
    ]
    expect(find(onlyLeadersAct, allowed, world)).toBeUndefined()
    expect(
      find(onlyLeadersAct, [called(1, { verb: "patch", resource: "pods", body: label("true") }, second)], world)
    ).toContain("patch pods")
  })
  it("says nothing where no leader is elected", () =>
    expect(find(onlyLeadersAct, [write("operator-primary-1")], makeWorld())).toBeUndefined())
})

describe("N14", () => {
  it("holds for one labelled leader, and where no leader is elected", () => {
    expect(findAtRest(oneLabelledLeader, elected())).toEqual([])
    expect(findAtRest(oneLabelledLeader, makeWorld())).toEqual([])
  })
  it("finds two labels, none, and the wrong one", () => {
    const world = elected()
    const put = (pod: string, value: string | null) =>
      world.primary.server.objects.write(pods, pod, label(value), "mirrord")
    put("mirrord-operator-1-1", "true")
    expect(findAtRest(oneLabelledLeader, world)).toEqual([
      "mirrord-operator-0-1 leads in primary, but the label is on mirrord-operator-0-1 and mirrord-operator-1-1."
    ])
    put("mirrord-operator-0-1", null)
    expect(findAtRest(oneLabelledLeader, world)[0]).toContain("but the label is on mirrord-operator-1-1.")
    put("mirrord-operator-1-1", null)
    expect(findAtRest(oneLabelledLeader, world)[0]).toContain("but the label is on no pod.")
  })
  it("finds that nobody leads", () => {
    const world = elected()
    world.primary.server.objects.erase(leases, "mirrord-operator", "mirrord")
    expect(findAtRest(oneLabelledLeader, world)).toEqual(["Nobody leads the operator of primary."])
  })
})

describe("S10 with replicas", () => {
  const started = (replica: number, process: string) =>
    at(0, { _tag: "Operator", cluster: "primary", process, replica, change: "started" })
  it("lets each have a process, and finds calls of one that was replaced", () => {
    const both = [started(0, first), started(1, second), called(1, {}, first), called(1, {}, second)]
    expect(find(noCallFromTheDead, both)).toBeUndefined()
    const crashed = at(2, { _tag: "Operator", cluster: "primary", process: first, replica: 0, change: "crashed" })
    expect(find(noCallFromTheDead, [...both, crashed, called(3, {}, first)])).toContain("nobody is the operator")
  })
})
