/** Copies of targets over many clusters, from a client's first request at the primary to the end of all copies. */

import { assert, describe } from "@effect/vitest"
import { Effect, Exit, Result, Scope } from "effect"
import { at } from "../../../src/domain/json.ts"
import { deployments, pods } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import type { MirrordOperator } from "../../../src/domain/resources/mirrord-operator.ts"
import { mirrordPolicies } from "../../../src/domain/resources/policies/mirrord-policies.ts"
import { defaultBounds } from "../../../src/domain/sessions/session-bounds.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { pass } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { opened, refusedWith } from "../../support/memory-session.ts"
import { certificateOf } from "../../support/user-certificate.ts"
import { made, minutes, outOfMemory, refused, replicas, defaultSpec } from "./copied.ts"
import { beginFleet, type FleetCopied, logsOf } from "./fleet-copied.ts"

const noAnswer = new KubeError({ cluster: "a", operation: "list", reason: "Unreachable", detail: "connection refused" })
const theirs = { a: replicas, b: replicas }
const down = { a: `0 instead of ${replicas}`, b: `0 instead of ${replicas}` }

/** A copy that is ready in both clusters. */
const withCopy = (copied: FleetCopied) =>
  Effect.gen(function* () {
    const copy = made(yield* copied.post())
    yield* pass("1 second")
    copied.runCopies("a", "b")
    yield* pass("1 second")
    assert.strictEqual(yield* copied.phase(copy.metadata.name), "Ready")
    return copy
  })

describe("a copy over many clusters that replaces its target", () => {
  it.effect(
    "lives from the request over its session to its idle time, and gives all targets their pods back",
    function* () {
      const copied = yield* beginFleet()
      const copy = made(yield* copied.post())
      const { name } = copy.metadata
      assert.deepStrictEqual(copy.spec, defaultSpec)
      assert.strictEqual(copy.status.phase, "InProgress")
      yield* pass("1 second")
      assert.deepStrictEqual(copied.names(), { a: [name], b: [name] }, "one name everywhere")
      assert.deepStrictEqual(copied.workloads(), down)
      copied.runCopies("a")
      yield* pass("1 second")
      assert.strictEqual(yield* copied.phase(name), "InProgress", "the other cluster is waited for")
      copied.runCopies("b")
      yield* pass("1 second")
      assert.strictEqual(yield* copied.phase(name), "Ready")
      const connection = yield* Scope.make()
      opened(yield* Scope.provide(copied.connect(copy), connection))
      for (const cluster of ["a", "b"]) {
        const [child] = copied.member(cluster).api.peekAll(mirrordClusterSessions)
        assert.deepInclude(child?.["spec"], {
          copyTarget: { scaledown: true },
          target: { apiVersion: "v1", kind: "Pod", name, container: "" }
        })
        assert.deepStrictEqual(copied.member(cluster).agentPods, [name])
      }
      const { spec, status } = (yield* copied.world.primary.operator?.describe ?? Effect.die("none")) as MirrordOperator
      assert.includeMembers([...(spec.supported_features ?? [])], ["CopyTarget", "CopyTargetExcludeContainers"])
      assert.deepStrictEqual(
        status?.copy_targets?.map(({ pod_name }) => pod_name),
        [name]
      )
      yield* minutes(5)
      assert.deepStrictEqual(copied.workloads(), down, "as long as the session lasts")
      yield* Scope.close(connection, Exit.void)
      yield* minutes(5)
      assert.deepStrictEqual(copied.names(), { a: [], b: [] })
      assert.deepStrictEqual(copied.workloads(), theirs)
      assert.include(yield* copied.phase(name), `There is no copy target ${name}`)
    }
  )

  it.effect("has its sessions in the container that its user has named", function* () {
    const copied = yield* beginFleet()
    for (const cluster of ["a", "b"]) {
      const containers = ["myapp", "side"].map((name) => ({ name, image: name }))
      const template = { metadata: { labels: { app: "myapp" } }, spec: { containers } }
      copied.member(cluster).api.write(deployments, "myapp", { spec: { template, replicas } }, "default")
    }
    const target = { deployment: "myapp", container: "side" }
    const copy = made(yield* copied.post({ ...defaultSpec, target }))
    yield* pass("1 second")
    copied.runCopies("a", "b")
    for (const cluster of ["a", "b"]) {
      const statuses = ["myapp", "side"].map((name) => ({ name, ready: true, containerID: `containerd://${name}` }))
      const status = { phase: "Running", podIPs: [{ ip: "10.0.0.2" }], containerStatuses: statuses }
      copied.member(cluster).api.write(pods, copy.metadata.name, { status }, "default")
    }
    yield* pass("1 second")
    assert.strictEqual(yield* copied.phase(copy.metadata.name), "Ready")
    const connection = yield* Scope.make()
    opened(yield* Scope.provide(copied.connect(copy), connection))
    for (const cluster of ["a", "b"]) {
      const [child] = copied.member(cluster).api.peekAll(mirrordClusterSessions)
      assert.strictEqual(at(child, "spec", "target", "container"), "side", cluster)
    }
    yield* Scope.close(connection, Exit.void)
    copied.member("a").api.before = ({ plural }) => (plural === "copytargets" ? Effect.fail(noAnswer) : Effect.void)
    opened(yield* copied.connect(copy))
  })

  it.effect("ends in all clusters when its client never comes, and when the primary vanishes", function* () {
    const copied = yield* beginFleet()
    yield* withCopy(copied)
    yield* copied.world.kill(copied.world.primary)
    yield* pass("20 seconds")
    assert.deepStrictEqual(copied.workloads(), down)
    yield* minutes(1)
    assert.deepStrictEqual(copied.names(), { a: [], b: [] })
    assert.deepStrictEqual(copied.workloads(), theirs)
  })

  it.effect("goes on under a new leader of the primary: the next question orders what is missing", function* () {
    const copied = yield* beginFleet()
    const { api } = copied.member("b")
    api.before = ({ plural, verb }) => (plural === "pods" && verb === "create" ? Effect.never : Effect.void)
    const copy = made(yield* copied.post())
    const { name } = copy.metadata
    assert.deepStrictEqual(copied.names(), { a: [name], b: [] })
    yield* copied.replace(copied.world.primary)
    api.before = () => Effect.void
    yield* copied.replace(copied.member("b"))
    assert.strictEqual(yield* copied.phase(name), "InProgress")
    yield* pass("1 second")
    assert.deepStrictEqual(copied.names(), { a: [name], b: [name] })
    copied.runCopies("a", "b")
    yield* pass("1 second")
    assert.strictEqual(yield* copied.phase(name), "Ready")
    opened(yield* copied.connect(copy))
    assert.deepStrictEqual(copied.workloads(), down)
  })

  it.effect(
    "takes the pods of a member's workload under a new leader of the primary, where that was cut short",
    function* () {
      const copied = yield* beginFleet()
      const { api } = copied.member("b")
      api.before = ({ plural, verb }) => (plural === "deployments" && verb === "patch" ? Effect.never : Effect.void)
      const { name } = made(yield* copied.post()).metadata
      yield* pass("1 second")
      assert.deepStrictEqual(copied.names(), { a: [name], b: [name] })
      assert.deepStrictEqual(copied.workloads(), { ...down, b: replicas })
      yield* copied.replace(copied.world.primary)
      api.before = () => Effect.void
      yield* copied.replace(copied.member("b"))
      copied.runCopies("a", "b")
      yield* pass("1 second")
      assert.strictEqual(yield* copied.phase(name), "InProgress")
      yield* pass("1 second")
      assert.strictEqual(yield* copied.phase(name), "Ready")
      assert.deepStrictEqual(copied.workloads(), down)
    }
  )

  it.effect("is not judged by an answer from before the order that was carried out since", function* () {
    const copied = yield* beginFleet()
    const [a, b] = [copied.member("a").api, copied.member("b").api]
    b.before = ({ plural, verb }) => (plural === "deployments" && verb === "patch" ? Effect.never : Effect.void)
    const { name } = made(yield* copied.post()).metadata
    yield* pass("1 second")
    yield* copied.replace(copied.world.primary)
    b.before = () => Effect.void
    yield* copied.replace(copied.member("b"))
    copied.runCopies("a", "b")
    yield* pass("1 second")
    let slow = 1
    a.before = ({ plural, verb }) =>
      plural === "pods" && verb === "list" && slow-- > 0 ? Effect.sleep("2 seconds") : Effect.void
    // The second question is answered first, and orders the copy of b again.
    assert.deepStrictEqual(yield* Effect.all([copied.phase(name), copied.phase(name)], { concurrency: 2 }), [
      "InProgress",
      "InProgress"
    ])
    assert.strictEqual(yield* copied.phase(name), "Ready")
    assert.deepStrictEqual(copied.workloads(), down)
  })

  it.effect("outlives a new leader of the primary under its session, whose client comes back", function* () {
    const copied = yield* beginFleet()
    const copy = yield* withCopy(copied)
    const connection = yield* Scope.make()
    opened(yield* Scope.provide(copied.connect(copy), connection))
    yield* copied.world.kill(copied.world.primary)
    yield* Scope.close(connection, Exit.void)
    yield* minutes(0.5)
    yield* copied.world.start(copied.world.primary)
    yield* pass("2 seconds")
    opened(yield* copied.connect(copy))
    yield* minutes(4)
    assert.deepStrictEqual(copied.workloads(), down)
  })

  it.effect("ends its session at once when the default cluster's pod is deleted, and not for another's", function* () {
    const copied = yield* beginFleet()
    const copy = yield* withCopy(copied)
    const { name } = copy.metadata
    const connection = yield* Scope.make()
    opened(yield* Scope.provide(copied.connect(copy), connection))
    copied.member("b").api.write(pods, name, { status: outOfMemory }, "default")
    yield* pass("5 seconds")
    const session = () => copied.world.primary.api.peekAll(mirrordMultiClusterSessions)[0]
    assert.include(
      at(session(), "status", "clusterSessions", "b", "error"),
      `pod ${name} has ended, it is Failed: container "myapp" ended (OOMKilled, exit code 137)`
    )
    assert.strictEqual(at(session(), "status", "phase"), "Ready")
    copied.member("a").api.erase(pods, name, "default")
    yield* pass("5 seconds")
    yield* Scope.close(connection, Exit.void)
    const { code, message } = refusedWith(yield* copied.connect(copy))
    assert.deepStrictEqual(
      [code, message],
      [
        410,
        `The session failed in cluster a: the session's copy cannot be used: there is no pod ${name} in namespace ` +
          "default; no pod takes its place, so run the command again, which makes a new copy."
      ]
    )
  })

  it.effect("is one copy for two equal requests at the same time, and for a later process of its user", function* () {
    const copied = yield* beginFleet()
    copied.member("a").api.before = ({ plural, verb }) =>
      plural === "pods" && verb === "create" ? Effect.sleep("700 millis") : Effect.void
    const [one, other] = yield* Effect.all([copied.post(), copied.post()], { concurrency: 2 })
    assert.strictEqual(made(one).metadata.name, made(other).metadata.name)
    yield* pass("1 second")
    const { name } = made(one).metadata
    assert.deepStrictEqual(copied.names(), { a: [name], b: [name] })
    const third = made(yield* copied.post())
    assert.deepStrictEqual([third.metadata.name, third.status.creator_session.id], [name, undefined])
  })
})

describe("the order of a copy", () => {
  const recordOf = "operator.metalbear.co/copy-target"

  /** Somebody who may write pods in the default cluster says that a copy was ordered of another target. */
  const forge = (copied: FleetCopied, name: string, k8sUsername: string) => {
    const { api } = copied.member("a")
    const pod = api.peek(pods, name, "default")
    const record = JSON.parse(pod?.metadata.annotations?.[recordOf] ?? "") as { readonly owner: object }
    const forged = {
      ...record,
      owner: { ...record.owner, k8sUsername },
      spec: { ...defaultSpec, target: { deployment: "victim", container: null } }
    }
    api.erase(pods, name, "default")
    const metadata = { labels: { [recordOf]: "true" }, annotations: { [recordOf]: JSON.stringify(forged) } }
    api.write(pods, name, { metadata }, "default")
  }

  const withVictim = (copied: FleetCopied) => {
    const template = { metadata: { labels: { app: "victim" } }, spec: { containers: [{ name: "victim" }] } }
    copied.member("b").api.write(deployments, "victim", { spec: { template, replicas } }, "default")
    return () => copied.member("b").api.peek(deployments, "victim", "default")?.["spec"]
  }

  it.effect("is the primary's own, whatever the default cluster says of it later", function* () {
    const copied = yield* beginFleet()
    const victim = withVictim(copied)
    const { api } = copied.member("b")
    api.before = ({ plural, verb }) => (plural === "pods" && verb === "create" ? Effect.never : Effect.void)
    const { name } = made(yield* copied.post()).metadata
    forge(copied, name, "ann")
    yield* copied.replace(copied.member("b"))
    api.before = () => Effect.void
    for (let i = 0; i < 6; i++) {
      yield* copied.get(name)
      yield* pass("5 seconds")
    }
    assert.deepInclude(victim(), { replicas })
  })

  it.effect("of an earlier leader counts for a user who may have the copy, and for nobody else", function* () {
    const copied = yield* beginFleet()
    const victim = withVictim(copied)
    copied.member("b").api.erase(deployments, "myapp", "default")
    const { name } = made(yield* copied.post()).metadata
    yield* pass("1 second")
    forge(copied, name, "eve")
    yield* copied.replace(copied.world.primary)
    for (const user of ["eve", "ann"]) {
      yield* copied.get(name, user)
      yield* pass("5 seconds")
      assert.deepInclude(victim(), { replicas }, `asked by ${user}`)
    }
  })
})

describe("clusters without a copy", () => {
  it.effect("are left out with a sentence that its user reads, and nothing is made there", function* () {
    const copied = yield* beginFleet()
    copied.member("b").api.erase(deployments, "myapp", "default")
    const copy = made(yield* copied.post())
    const { name } = copy.metadata
    yield* pass("1 second")
    copied.runCopies("a")
    yield* pass("1 second")
    assert.strictEqual(yield* copied.phase(name), "Ready")
    assert.deepStrictEqual(copied.names(), { a: [name], b: [] })
    const lines = yield* logsOf(opened(yield* copied.connect(copy)))
    assert.lengthOf(lines, 1)
    assert.include(lines[0], "cluster b takes no part in this session for now: it has no copy of the target: ")
    assert.include(lines[0], "there is no deployment/myapp in namespace default")
  })

  it.effect("are those whose policies let no copy take the pods, and such a default refuses it for all", function* () {
    const copied = yield* beginFleet()
    const policy = { spec: { targetPath: "deploy/myapp", block: ["copy-target-scale-down"] } }
    copied.member("b").api.write(mirrordPolicies, "p", policy, "default")
    yield* pass("1 second")
    const { name } = made(yield* copied.post()).metadata
    yield* pass("1 second")
    copied.runCopies("a")
    yield* pass("1 second")
    assert.strictEqual(yield* copied.phase(name), "Ready")
    assert.deepStrictEqual(copied.workloads(), { a: `0 instead of ${replicas}`, b: replicas })
    yield* minutes(1)
    copied.member("a").api.write(mirrordPolicies, "p", policy, "default")
    yield* pass("1 second")
    const { code, message } = refused(yield* copied.post())
    assert.deepStrictEqual(
      [code, message.startsWith("In the default cluster a: Operation was blocked by policy `p`: ")],
      [403, true]
    )
    assert.deepStrictEqual(copied.names(), { a: [], b: [] })
    assert.deepStrictEqual(copied.workloads(), theirs)
  })

  it.effect("are those that are not ready 15 s after the default, and may join the session later", function* () {
    const copied = yield* beginFleet()
    const copy = made(yield* copied.post())
    const { name } = copy.metadata
    yield* pass("1 second")
    copied.runCopies("a")
    yield* pass("1 second")
    assert.strictEqual(yield* copied.phase(name), "InProgress")
    for (let i = 0; i < 2; i++) {
      yield* pass("5 seconds")
      assert.strictEqual(yield* copied.phase(name), "InProgress")
    }
    yield* pass("6 seconds")
    assert.strictEqual(yield* copied.phase(name), "Ready")
    opened(yield* copied.connect(copy))
    assert.deepStrictEqual(copied.member("b").agentPods, [])
    copied.runCopies("b")
    yield* minutes(1)
    assert.deepStrictEqual(copied.member("b").agentPods, [name])
    assert.deepStrictEqual(copied.workloads(), down)
  })

  it.effect("fail it where a session starts with all clusters or not at all", function* () {
    const copied = yield* beginFleet({ sessionStart: "all" })
    copied.member("b").api.erase(deployments, "myapp", "default")
    const { name } = made(yield* copied.post()).metadata
    yield* pass("1 second")
    const answer = yield* copied.get(name)
    const { failure_message: message, phase } = made(answer).status
    assert.strictEqual(phase, "Failed")
    assert.include(message, "in cluster b: it has no copy of the target: ")
    assert.include(message, "there is no deployment/myapp in namespace default")
    yield* minutes(1)
    assert.deepStrictEqual(copied.names(), { a: [], b: [] })
    assert.deepStrictEqual(copied.workloads(), { a: replicas, b: undefined })
  })
})

describe("a copy over many clusters", () => {
  it.effect("fails with the words of the default cluster, and ends everywhere", function* () {
    const copied = yield* beginFleet()
    const { name } = made(yield* copied.post()).metadata
    yield* pass("1 second")
    const waiting = { state: { waiting: { reason: "ImagePullBackOff", message: "no such image" } } }
    const status = { phase: "Pending", containerStatuses: [{ name: "myapp", ready: false, ...waiting }] }
    copied.member("a").api.write(pods, name, { status }, "default")
    yield* pass("1 second")
    const { failure_message: message, phase } = made(yield* copied.get(name)).status
    assert.strictEqual(phase, "Failed")
    assert.include(message, "in cluster a: ")
    assert.include(message, "no such image")
    yield* minutes(1)
    assert.deepStrictEqual(copied.names(), { a: [], b: [] })
    assert.deepStrictEqual(copied.workloads(), theirs)
  })

  it.effect("is refused where the default has no such target, and made nowhere", function* () {
    const copied = yield* beginFleet()
    copied.member("a").api.erase(deployments, "myapp", "default")
    const { code, message } = refused(yield* copied.post())
    assert.strictEqual(code, 404)
    assert.include(message, "In the default cluster a: ")
    assert.include(message, "there is no deployment/myapp in namespace default")
    yield* pass("5 seconds")
    assert.deepStrictEqual(copied.names(), { a: [], b: [] })
  })

  it.effect("is for users who may connect to the target at the primary, within the bounds", function* () {
    const copied = yield* beginFleet({}, { limits: { bounds: { ...defaultBounds, sessionsPerUser: 1 } } })
    const stranger = refused(yield* copied.post(defaultSpec, copied.certificate, "eve"))
    assert.deepStrictEqual([stranger.code, stranger.message.includes("User eve cannot proxy")], [403, true])
    const copy = made(yield* copied.post())
    const further = refused(yield* copied.post({ ...defaultSpec, scale_down: false }))
    assert.deepStrictEqual([further.code, further.message.includes("sessionsPerUser")], [403, true])
    yield* pass("1 second")
    copied.runCopies("a", "b")
    yield* pass("1 second")
    assert.strictEqual(yield* copied.phase(copy.metadata.name), "Ready")
  })

  it.effect(
    "is not made beside too many of the same moment, and is known although others asked meanwhile",
    function* () {
      const copied = yield* beginFleet({}, { limits: { bounds: { ...defaultBounds, sessionsPerUser: 2 } } })
      const answers = yield* Effect.all(
        [1, 2, 3, 4].map(() => copied.post({ ...defaultSpec, scale_down: false })),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(
        answers.map(Result.isSuccess).filter((wasMade) => wasMade),
        [true, true]
      )
      yield* pass("1 second")
      assert.lengthOf(copied.copies("a"), 2)
      assert.lengthOf(copied.copies("b"), 2)
    }
  )

  it.effect("is its user's own", function* () {
    const copied = yield* beginFleet()
    const copy = yield* withCopy(copied)
    const other = yield* certificateOf(copied.world.primary, "other")
    const { code, message } = refusedWith(yield* copied.connect(copy, 7n, other))
    assert.deepStrictEqual(
      [code, message],
      [
        403,
        `The copy target ${copy.metadata.name} belongs to another user; start the command again to ` +
          "get a copy of your own."
      ]
    )
    opened(yield* copied.connect(copy))
  })

  it.effect("is as it was while the default cluster does not answer", function* () {
    const copied = yield* beginFleet()
    const { name } = (yield* withCopy(copied)).metadata
    const { api } = copied.member("a")
    api.before = () => Effect.fail(noAnswer)
    assert.strictEqual(yield* copied.phase(name), "Ready")
    api.before = () => Effect.void
    assert.strictEqual(yield* copied.phase(name), "Ready")
  })

  it.effect("has failed when the default cluster is lost before it was ready", function* () {
    const copied = yield* beginFleet()
    const { name } = made(yield* copied.post()).metadata
    copied.member("a").api.setReachable(false)
    yield* minutes(2)
    assert.strictEqual(yield* copied.phase(name), "Failed")
  })

  it.effect("is ordered by nobody who may not drive sessions in a cluster", function* () {
    const copied = yield* beginFleet()
    copied.member("a").trusted.clear()
    const { code, message } = refused(yield* copied.post())
    assert.strictEqual(code, 403)
    assert.include(message, "may create mirrordclustersessions here")
    assert.isTrue(Result.isFailure(yield* copied.post()))
    assert.deepStrictEqual(copied.names(), { a: [], b: [] })
  })
})
