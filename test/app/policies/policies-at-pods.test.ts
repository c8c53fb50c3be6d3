/** Policies of pods to which a target leads by labels alone, and of pods that join while a session runs. */

import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { events } from "../../../src/domain/events/event-object.ts"
import type { ClientMessage } from "../../../src/domain/protocol/client-message.ts"
import { deployments, pods, replicaSets, rollouts, services } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordPolicies } from "../../../src/domain/resources/policies/mirrord-policies.ts"
import { pass, request } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { connectTo, memberOf, opened, startWorld } from "../../support/memory-session.ts"
import type { MemoryCluster } from "../../support/memory-world.ts"
import { certificateOf } from "../../support/user-certificate.ts"
import { allow, client, logs, refusalOf, steal } from "./policed.ts"

const owner = (kind: string, name: string) => ({ apiVersion: "apps/v1", kind, name, uid: name, controller: true })

/** A pod that runs, of a replica set or of nobody. */
const addPod = ({ api }: MemoryCluster, name: string, labels: object, set?: string): void => {
  const ownerReferences = set === undefined ? [] : [owner("ReplicaSet", set)]
  const containerStatuses = [{ name: "myapp", ready: true, containerID: `containerd://${name}` }]
  const status = { phase: "Running", podIPs: [{ ip: "10.0.0.2" }], containerStatuses }
  const spec = { nodeName: "node", containers: [{ name: "myapp" }] }
  api.write(pods, name, { metadata: { labels, ownerReferences }, spec, status }, "default")
}

/** A deployment of one replica set, whose pods the selector of `deployment/myapp` covers too. */
const deployCanary = (cluster: MemoryCluster, ready: ReadonlyArray<string> = []): void => {
  const labels = { app: "myapp", track: "canary" }
  const spec = { selector: { matchLabels: labels }, template: { spec: { containers: [{ name: "myapp" }] } } }
  cluster.api.write(deployments, "canary", { spec }, "default")
  const metadata = { labels, ownerReferences: [owner("Deployment", "canary")] }
  cluster.api.write(replicaSets, "canary-1", { metadata, spec }, "default")
  for (const pod of ready) addPod(cluster, pod, labels, "canary-1")
}

const joinCanary = (cluster: MemoryCluster): void =>
  addPod(cluster, "canary-1-a", { app: "myapp", track: "canary" }, "canary-1")

const start = Effect.gen(function* () {
  const { world } = yield* startWorld()
  const cluster = memberOf(world, "a")
  cluster.api.write(services, "web", { spec: { selector: { app: "myapp" } } }, "default")
  const certificate = yield* certificateOf(cluster)
  let sessions = 0
  const connect = (target = "service.web", query = "connect=true") =>
    connectTo(cluster, request(certificate, { target, query, sessionId: `${++sessions}` }))
  const join = (target?: string, query?: string) =>
    Effect.flatMap(connect(target, query), (found) => client(opened(found)))
  return { cluster, connect, join }
})

/** Time in which the pods of a session are looked at again. */
const look = pass("31 seconds")

const mirror: ClientMessage = { _tag: "Tcp", value: { _tag: "PortSubscribe", value: 80 } }
const variables: ClientMessage = {
  _tag: "GetEnvVarsRequest",
  value: { envVarsFilter: new Set(), envVarsSelect: new Set(["*"]) }
}
const guard = { block: ["steal"], targetPath: "deploy/canary" }

describe("a target that is a workload", () => {
  it.effect("has no pods of another workload, however far its selector reaches", function* () {
    const { cluster, join } = yield* start
    deployCanary(cluster, ["a-canary", "z-canary"])
    let reads = 0
    cluster.api.before = ({ plural, verb }) => {
      if (plural === replicaSets.plural && verb === "get") reads++
      return Effect.void
    }
    allow(cluster, "guard", { ...guard, env: { exclude: ["*"] } }, "default")
    yield* pass("1 second")
    const { got, say } = yield* join("deployment.myapp")
    yield* say(steal)
    assert.isUndefined(refusalOf(got))
    yield* look
    assert.deepStrictEqual(cluster.agentPods, ["myapp-1"])
    assert.isAtMost(reads, 2, "one read for all pods of a replica set, at each look")
    joinCanary(cluster)
    yield* look
    assert.deepStrictEqual(cluster.agentPods, ["myapp-1"])
    assert.deepStrictEqual(logs(got), [])
  })

  it.effect("has the pods of its new replica sets at the next look", function* () {
    const { cluster, join } = yield* start
    const labels = { app: "myapp" }
    yield* join("deployment.myapp")
    const metadata = { labels, ownerReferences: [owner("Deployment", "myapp")] }
    cluster.api.write(replicaSets, "myapp-new", { metadata }, "default")
    addPod(cluster, "myapp-new-a", labels, "myapp-new")
    yield* look
    assert.deepStrictEqual(cluster.agentPods, ["myapp-1", "myapp-new-a"])
  })

  it.effect("is held to the policies of the pod that it has its environment from", function* () {
    const { cluster, join } = yield* start
    allow(cluster, "quiet", { env: { exclude: ["CLUS*"] }, targetPath: "pod/myapp-1" }, "default")
    yield* pass("1 second")
    const { got, say } = yield* join("deployment.myapp")
    yield* say(variables)
    const answer = got.find(({ _tag }) => _tag === "GetEnvVarsResponse")
    assert.deepStrictEqual(answer, { _tag: "GetEnvVarsResponse", value: { _tag: "Ok", value: new Map() } })
  })

  it.effect("that refers to another one has the pods of both, and is held to the policies of either", function* () {
    const { cluster, join } = yield* start
    const workloadRef = { apiVersion: "apps/v1", kind: "Deployment", name: "myapp" }
    cluster.api.write(rollouts, "next", { spec: { workloadRef } }, "default")
    cluster.api.erase(pods, "myapp-1", "default")
    const sets = [
      ["next-1", { ...owner("Rollout", "next"), apiVersion: "argoproj.io/v1alpha1" }],
      ["myapp-old", owner("Deployment", "myapp")],
      ["other-1", owner("Deployment", "other")]
    ] as const
    for (const [name, of] of sets) {
      cluster.api.write(replicaSets, name, { metadata: { ownerReferences: [of] } }, "default")
      addPod(cluster, `${name}-a`, { app: "myapp" }, name)
    }
    allow(cluster, "guard", { block: ["steal"], targetPath: "deployment/myapp" }, "default")
    yield* pass("1 second")
    const { got, say } = yield* join("rollout.next")
    assert.deepStrictEqual(cluster.agentPods, ["next-1-a", "myapp-old-a"])
    yield* say(steal)
    assert.deepInclude(refusalOf(got), { policyName: "guard" })
  })

  it.effect("is held to the policies of each pod that has an agent", function* () {
    const { cluster, join } = yield* start
    addPod(cluster, "myapp-2", { app: "myapp", guarded: "yes" })
    allow(cluster, "guard", { block: ["steal"], selector: { matchLabels: { guarded: "yes" } } }, "default")
    yield* pass("1 second")
    const { got, say } = yield* join("deployment.myapp")
    yield* say(steal)
    assert.deepInclude(refusalOf(got), { policyName: "guard", reason: "it blocks stealing" })
  })
})

describe("a target that selects by labels", () => {
  it.effect("is held to the policies of all of its pods' owners from its start on", function* () {
    const { cluster, join } = yield* start
    deployCanary(cluster, ["canary-1-a"])
    allow(cluster, "guard", guard, "default")
    yield* pass("1 second")
    const label = `connect=true&label_target=${encodeURIComponent('{"labels":{"app":"myapp"}}')}`
    for (const target of [["service.web"], ["label", label]] as const) {
      const { got, say } = yield* join(...target)
      yield* say(steal)
      assert.deepInclude(refusalOf(got), { policyName: "guard" })
    }
  })

  it.effect(
    "leaves out a pod that comes later whose policies forbid what the session does, until they do not",
    function* () {
      const { cluster, join } = yield* start
      deployCanary(cluster)
      allow(cluster, "guard", guard, "default")
      yield* pass("1 second")
      const { ended, got, say } = yield* join()
      yield* say(steal)
      assert.isUndefined(refusalOf(got))
      joinCanary(cluster)
      yield* look
      yield* look
      assert.deepStrictEqual(cluster.agentPods, ["myapp-1"])
      assert.isUndefined(ended())
      const why = 'the mirrord policy "guard" forbids there what the session does: it blocks stealing'
      assert.deepStrictEqual(
        logs(got).filter((line) => line.includes("canary-1-a")),
        [`pod canary-1-a is left out: ${why}`],
        "once"
      )
      const told = cluster.api.peekAll(events).filter(({ reason }) => reason === "PodLeftOut")
      assert.deepStrictEqual(
        told.map(({ count, message }) => [count, message]),
        [[1, `Pod canary-1-a is left out of the session: ${why}. It is looked at again every 30 s.`]]
      )
      cluster.api.erase(mirrordPolicies, "guard", "default")
      yield* look
      assert.deepStrictEqual(cluster.agentPods, ["myapp-1", "canary-1-a"])
    }
  )

  it.effect(
    "takes in a pod whose policies forbid something else, and is held to them there from then on",
    function* () {
      const { cluster, join } = yield* start
      deployCanary(cluster)
      allow(cluster, "guard", guard, "default")
      yield* pass("1 second")
      const { got, say } = yield* join()
      yield* say(mirror)
      joinCanary(cluster)
      yield* look
      assert.deepStrictEqual(cluster.agentPods, ["myapp-1", "canary-1-a"])
      yield* say(steal)
      assert.deepInclude(refusalOf(got), { policyName: "guard", reason: "it blocks stealing" })
    }
  )

  it.effect(
    "is connected again when a policy comes for a pod that came later, and not for others' policies",
    function* () {
      const { cluster, join } = yield* start
      deployCanary(cluster)
      allow(cluster, "other", { block: ["steal"], targetPath: "deploy/other" }, "default")
      yield* pass("1 second")
      const { ended, say } = yield* join()
      yield* say(steal)
      joinCanary(cluster)
      yield* look
      assert.deepStrictEqual(cluster.agentPods, ["myapp-1", "canary-1-a"])
      allow(cluster, "other", { block: ["mirror"], targetPath: "deploy/other" }, "default")
      yield* pass("1 second")
      assert.isUndefined(ended())
      allow(cluster, "guard", guard, "default")
      yield* pass("1 second")
      assert.isDefined(ended())
    }
  )

  it.effect("takes in no pod while it cannot be told which policies the pod has", function* () {
    const { cluster, join } = yield* start
    deployCanary(cluster)
    const { ended } = yield* join()
    allow(cluster, "broken", { fs: { notFound: ["("] } }, "default")
    yield* pass("1 second")
    joinCanary(cluster)
    yield* look
    assert.deepStrictEqual(cluster.agentPods, ["myapp-1"])
    assert.isUndefined(ended())
    cluster.api.erase(mirrordPolicies, "broken", "default")
    yield* look
    assert.deepStrictEqual(cluster.agentPods, ["myapp-1", "canary-1-a"])
  })
})
