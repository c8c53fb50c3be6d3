/** Sessions at rest, in the whole simulation: nothing is written but heartbeats. */

import { describe, expect, it } from "vitest"
import { defaultPlan, World } from "../../lab/simulation/world/world.ts"
import { events } from "../../src/domain/events/event-object.ts"
import { mirrordClusterSessions } from "../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../src/domain/resources/mirrord-multi-cluster-session.ts"
import type { KubeObject } from "../../src/ports/kube-api.ts"

const makeWorld = (): World =>
  new World({
    ...defaultPlan,
    seed: "rest",
    clusters: [
      { name: "a", pods: 1 },
      { name: "b", pods: 1 }
    ],
    defaultCluster: "a"
  })

/** Every session and Event of all clusters. */
const objects = (world: World): ReadonlyArray<KubeObject> =>
  [...world.clusters.values()].flatMap(({ server }) =>
    [mirrordMultiClusterSessions, mirrordClusterSessions, events].flatMap((ref) => server.objects.peekAll(ref))
  )

const versions = (world: World): ReadonlyArray<string> =>
  objects(world).map(({ metadata: { name, resourceVersion } }) => `${name} ${resourceVersion}`)

const without = (object: object, field: string): object =>
  Object.fromEntries(Object.entries(object).filter(([key]) => key !== field))

/** Without what a heartbeat changes. */
const withoutHeartbeats = (world: World) =>
  objects(world).map((object) => ({
    ...object,
    metadata: without(object.metadata, "resourceVersion"),
    status: without(object["status"] ?? {}, "connectedTimestamp")
  }))

describe("at rest", () => {
  it("a session that is served changes in nothing but its heartbeats, and nothing is told", () => {
    const world = makeWorld()
    world.startClient({ name: "s1", user: "ann", shape: "exec", target: "deployment.myapp" })
    world.pass(120_000)
    expect(world.client("s1").isServing).toBe(true)
    const before = withoutHeartbeats(world)
    const told = before.filter(({ kind }) => kind === "Event").length
    expect(told).toBeGreaterThan(0)
    expect(before.length - told).toBe(3)
    world.pass(600_000)
    expect(withoutHeartbeats(world)).toEqual(before)
  })

  it("a session that failed has the same resourceVersion until it goes, and so have its Events", () => {
    const world = makeWorld()
    world.startClient({ name: "s1", user: "ann", shape: "exec", target: "deployment.nothing" })
    // Until after the last heartbeat of the client that was refused.
    world.pass(17_000)
    const parent = () => world.primary.server.objects.peekAll(mirrordMultiClusterSessions)[0]
    expect(parent()?.["status"]).toMatchObject({ phase: "Failed" })
    const before = versions(world)
    world.pass(12_000)
    expect(versions(world)).toEqual(before)
    expect(parent()).toBeDefined()
  })
})
