/** A whole world: it starts, serves, heals and says whether it is well. */

import { describe, expect, it } from "vitest"
import { errorKinds } from "../../../../lab/simulation/world/call-faults.ts"
import type { World } from "../../../../lab/simulation/world/world.ts"
import { jobs } from "../../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../../src/domain/resources/mirrord-cluster-session.ts"
import { makeWorld } from "../invariants/fixture.ts"

const running = (): World => {
  const world = makeWorld()
  world.pass(10_000)
  expect(world.isWell).toBe(true)
  return world
}

/** Faults that last; each ends with all other faults. */
const troubles: Readonly<Record<string, (world: World) => void>> = {
  "a link is cut": ({ network }) => network.cut("b", "primary"),
  "a link is slow": ({ network }) => network.setBandwidth("b", "primary", 1),
  "packets take long": ({ network }) => network.setLatency("b", "primary", 2_000, 9_000),
  "an operator is paused": (world) => world.cluster("b").host.pause(),
  "an operator's clock is wrong": (world) => world.cluster("b").host.setSkew(60_000),
  "a server is down": (world) => world.cluster("b").server.stop(),
  "watches are late": (world) => world.cluster("b").server.delayWatches(400, false),
  "watches lose events": (world) => world.cluster("b").server.objects.setMuted(true),
  "images are missing": (world) => void (world.cluster("b").kubelet.pullProblem = "no such image"),
  "pods are not ready": (world) => world.cluster("b").kubelet.setReady("myapp", false),
  "agents are slow": (world) => void (world.cluster("b").kubelet.agentDelay = [100, 900]),
  "calls fail": (world) => void world.faultPlans.push(() => undefined),
  "something is still to come": (world) => world.faultIn(1_000_000, () => {})
}

describe("a world", () => {
  for (const [name, begin] of Object.entries(troubles)) {
    it(`is not well while ${name}`, () => {
      const world = running()
      begin(world)
      expect(world.isWell).toBe(false)
      world.heal()
      // Delayed packets arrive.
      world.pass(20_000)
      expect(world.isWell).toBe(true)
    })
  }

  it("is not well while an operator is down after a crash, and is when one is gone for ever", () => {
    const world = running()
    world.cluster("b").host.crash("killed")
    expect(world.isWell).toBe(false)
    world.pass(10_000)
    expect(world.isWell).toBe(true)
    world.cluster("b").host.leaveForEver()
    expect(world.isWell).toBe(true)
  })

  it("is not well as long as a connection is dead and one of its ends has not noticed", () => {
    const world = running()
    const client = world.startClient({ name: "s1", user: "ann", shape: "exec", target: "deployment.myapp" })
    world.passUntil(() => client.isServing, 60_000)
    for (const connection of world.network.between("primary", client.place)) connection.goSilent()
    expect(world.isWell).toBe(false)
    world.passUntil(() => world.isWell, 400_000)
    expect(world.isWell).toBe(true)
  })

  it("is not well as long as a pod says that its image cannot be pulled", () => {
    const world = running()
    world.cluster("b").kubelet.pullProblem = "no such image"
    world.startClient({ name: "s1", user: "ann", shape: "exec", target: "deployment.myapp" })
    world.pass(2_000)
    world.heal()
    expect(world.isWell).toBe(false)
    world.pass(6_000)
    expect(world.isWell).toBe(true)
  })

  it("is well again when the calls that were to fail have failed, and the slow ones are answered", () => {
    const world = running()
    let calls = 1
    world.faultPlans.push(
      Object.assign(() => (calls-- > 0 ? errorKinds["slow"] : undefined), { isOver: () => calls <= 0 })
    )
    expect(world.isWell).toBe(false)
    world.passUntil(() => calls <= 0, 60_000)
    expect(world.isWell).toBe(false)
    world.pass(9_000)
    expect(world.isWell).toBe(true)
  })

  it("collects what was made for an owner that is gone, unless it has got another one meanwhile", () => {
    const world = running()
    const { objects } = world.cluster("a").server
    const child = objects.write(
      mirrordClusterSessions,
      "mc-1-a",
      { spec: { namespace: "default" } },
      { namespace: undefined, now: world.now }
    )
    const ownedBy = (uid: string) => [{ apiVersion: "v1", kind: "X", name: "x", uid }]
    for (const name of ["left", "kept"])
      objects.write(
        jobs,
        name,
        { metadata: { ownerReferences: ownedBy("nobody") } },
        { namespace: "mirrord", now: world.now }
      )
    objects.write(
      jobs,
      "kept",
      { metadata: { ownerReferences: ownedBy(child.metadata.uid ?? "") } },
      { namespace: "mirrord", now: world.now }
    )
    world.pass(5_000)
    expect(objects.peek(jobs, "left", "mirrord")).toBeUndefined()
    expect(objects.peek(jobs, "kept", "mirrord")).toBeDefined()
  })
})
