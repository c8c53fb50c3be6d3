/** N16 and N17: what operators and people do to copies and the workloads that these replace. */

import { describe, expect, it } from "vitest"
import { replicasKept } from "../../../../lab/simulation/invariants/n16-replicas-kept.ts"
import { copiesEnd } from "../../../../lab/simulation/invariants/n17-copies-end.ts"
import type { TimedEvent } from "../../../../lab/simulation/world/world-event.ts"
import type { World } from "../../../../lab/simulation/world/world.ts"
import { copyLabel } from "../../../../src/domain/copies/copy-record.ts"
import { deployments, pods } from "../../../../src/domain/resources/core-kinds.ts"
import type { KubeObject } from "../../../../src/ports/kube-api.ts"
import { at, called, committed, find, findAtRest, makeWorld, mirrordClusterSessions } from "./fixture.ts"

const from = "operator.metalbear.co/scaled-down-from"
const by = "operator.metalbear.co/scaled-down-by"

const workload = (replicas: number, labels: Readonly<Record<string, string>> = {}): KubeObject => ({
  metadata: { name: "myapp", namespace: "default", uid: "a-uid-1", labels },
  spec: { replicas }
})
const labels = { [from]: "3", [by]: "copy" }
const down = workload(0, labels)
/** Somebody scales a workload at this time. */
const person = (ms: number): TimedEvent => at(ms, { _tag: "Fault", kind: "workload scaled", text: "" })

/** The writes of one workload, one after the other. */
const written = (...states: ReadonlyArray<KubeObject>): ReadonlyArray<TimedEvent> =>
  states.map((state, i) => committed("a", deployments, state, states[i - 1], i))

const withCopy = (world: World, record: object = {}): World => {
  const annotations = { [copyLabel]: JSON.stringify(record) }
  const copy = { metadata: { labels: { [copyLabel]: "true" }, annotations }, spec: {} }
  world.cluster("a").server.objects.write(pods, "copy", copy, { namespace: "default", now: world.now })
  return world
}

const session = (world: World): World => {
  world.cluster("a").server.objects.write(mirrordClusterSessions, "abc", {
    spec: { copyTarget: { scaledown: false }, target: { kind: "Pod", name: "copy" } }
  })
  return world
}

describe("N16", () => {
  it("holds where the number of pods is written with the scale-down, and comes back", () => {
    const events = written(workload(3), down, workload(3))
    expect(find(replicasKept, events)).toBeUndefined()
    expect(findAtRest(replicasKept, makeWorld(), "healed", events)).toEqual([])
  })

  it("holds while the copy is there", () => {
    expect(findAtRest(replicasKept, withCopy(makeWorld()), "healed", written(workload(3), down))).toEqual([])
  })

  it.each<[string, ReadonlyArray<KubeObject>, string]>([
    ["no label", [workload(3), workload(0)], "from 3 to 0 pods by an operator"],
    ["a label with another number", [workload(3), workload(0, { [from]: "1", [by]: "copy" })], "loses its number"],
    ["a label without the scale-down", [workload(3), workload(3, { [from]: "3", [by]: "copy" })], "with 3 pods"],
    ["another number that comes back", [workload(3), down, workload(1)], "gets 1 pods back"]
  ])("breaks at a write with %s", (_name, states, sentence) => {
    expect(find(replicasKept, written(...states))).toContain(sentence)
  })

  it("breaks at rest when the copy is gone and the workload has no pods", () => {
    expect(findAtRest(replicasKept, makeWorld(), "healed", written(workload(3), down))).toMatchObject([
      expect.stringContaining("its copy is gone")
    ])
  })

  it("breaks at rest when a session is on a copy beside the pods that it replaces, unless a person wants them", () => {
    const replacing = (): World => withCopy(makeWorld(), { replaces: { kind: "deployment", name: "myapp" } })
    const found = (world: World, events: ReadonlyArray<TimedEvent>) => findAtRest(replicasKept, world, "healed", events)
    const beside = [expect.stringContaining("has its pods beside it")]
    expect(found(session(replacing()), written(workload(3)))).toMatchObject(beside)
    expect(found(replacing(), written(workload(3)))).toEqual([])
    expect(found(session(replacing()), written(workload(3), down))).toEqual([])
    const scaled = [...written(workload(3)), person(5), committed("a", deployments, workload(4), workload(3), 5)]
    expect(found(session(replacing()), scaled)).toEqual([])
  })

  it("takes the number that a person sets meanwhile, and no zero that looks like the copy's", () => {
    const theirs = [...written(workload(3), down), person(5), committed("a", deployments, workload(5, labels), down, 5)]
    const letGo = committed("a", deployments, workload(5), workload(5, labels), 6)
    expect(findAtRest(replicasKept, makeWorld(), "healed", [...theirs, letGo])).toEqual([])
    const zero = [person(7), committed("a", deployments, workload(0), workload(5), 7)]
    expect(findAtRest(replicasKept, makeWorld(), "healed", [...theirs, letGo, ...zero])).toEqual([])
  })
})

const deletion = called(
  1,
  { verb: "delete", resource: pods.plural, name: "copy", to: "a", operator: "a" },
  "operator-a-1"
)

describe("N17", () => {
  it("breaks when an operator deletes a copy under its session", () => {
    expect(find(copiesEnd, [deletion], session(withCopy(makeWorld())))).toContain("and a session is on it")
  })

  it("lets an operator delete a copy without a session, and a person any", () => {
    expect(find(copiesEnd, [deletion], withCopy(makeWorld()))).toBeUndefined()
    expect(
      find(copiesEnd, [at(1, { _tag: "Fault", kind: "copy deleted", text: "" })], session(makeWorld()))
    ).toBeUndefined()
  })

  it("breaks at rest when a copy has outlived its sessions for long", () => {
    const world = withCopy(makeWorld())
    expect(findAtRest(copiesEnd, world, "left")).toEqual([])
    world.pass(240_000)
    expect(world.cluster("a").kubelet.copies).toEqual([])
  })

  it("counts from the last session on", () => {
    const world = makeWorld()
    world.cluster("a").host.leaveForEver()
    withCopy(world)
    world.pass(240_000)
    world.cluster("a").host.comeBack()
    expect(findAtRest(copiesEnd, world, "left")).toMatchObject([expect.stringContaining("without a session for 240 s")])
    expect(findAtRest(copiesEnd, world, "healed")).toEqual([])
    expect(findAtRest(copiesEnd, session(world), "left")).toEqual([])
  })
})
