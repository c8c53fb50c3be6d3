/** Copies of targets from a client's first request to the end of the copy, with the operator of one cluster. */

import { assert, describe } from "@effect/vitest"
import { Effect, Exit, Result, Scope } from "effect"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { at } from "../../../src/domain/json.ts"
import { deployments, pods, rollouts } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import type { MirrordOperator } from "../../../src/domain/resources/mirrord-operator.ts"
import { defaultBounds } from "../../../src/domain/sessions/session-bounds.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { pass, request } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { configurationOf } from "../../support/fleet.ts"
import { connectTo, opened, refusedWith } from "../../support/memory-session.ts"
import { client } from "../policies/policed.ts"
import { begin, type Copied, made, minutes, outOfMemory, refused, replicas, defaultSpec } from "./copied.ts"

const theirs = { replicas, labels: {} }
const scaledDownFor = (copy: string) => ({
  replicas: 0,
  labels: {
    "operator.metalbear.co/scaled-down-from": String(replicas),
    "operator.metalbear.co/scaled-down-by": copy
  }
})

/** A user with a certificate, and a copy of theirs that is ready. */
const withCopy = (spec: object = defaultSpec) =>
  Effect.gen(function* () {
    const copied = yield* begin()
    const certificate = yield* copied.certificate()
    const copy = made(yield* copied.post(certificate, spec))
    copied.runCopies()
    yield* pass("1 second")
    return { copied, certificate, copy, name: copy.metadata.name }
  })

const describeOperator = (copied: Copied) => Effect.map(copied.facade.describe, (object) => object as MirrordOperator)

describe("a copy that replaces its target", () => {
  it.effect(
    "lives from the request over its session to its idle time, and gives the target its pods back",
    function* () {
      const copied = yield* begin()
      const certificate = yield* copied.certificate()
      const copy = made(yield* copied.post(certificate))
      const { name } = copy.metadata
      assert.deepStrictEqual(copy.spec, defaultSpec)
      assert.strictEqual(copy.status.phase, "InProgress")
      assert.deepStrictEqual(copied.workload(), scaledDownFor(name))
      assert.strictEqual((yield* copied.get(name)).status.phase, "InProgress")
      copied.runCopies()
      yield* pass("5 seconds")
      assert.strictEqual((yield* copied.get(name)).status.phase, "Ready")
      const { spec, status } = yield* describeOperator(copied)
      assert.includeMembers([...(spec.supported_features ?? [])], ["CopyTarget", "CopyTargetExcludeContainers"])
      assert.deepStrictEqual(
        status?.copy_targets?.map(({ pod_name }) => pod_name),
        [name]
      )
      const connection = yield* Scope.make()
      opened(yield* Scope.provide(copied.connect(certificate, copy), connection))
      const [session] = copied.cluster.api.peekAll(mirrordClusterSessions)
      assert.deepInclude(session?.["spec"], {
        copyTarget: { scaledown: true },
        target: { apiVersion: "v1", kind: "Pod", name, container: "myapp" }
      })
      assert.strictEqual(BigInt(`0x${session?.metadata.name}`), BigInt(`0x${copy.status.creator_session.id}`))
      yield* minutes(5)
      assert.deepStrictEqual(copied.workload(), scaledDownFor(name), "as long as the session lasts")
      yield* Scope.close(connection, Exit.void)
      yield* minutes(4)
      assert.deepStrictEqual(copied.cluster.api.peekAll(mirrordClusterSessions), [])
      assert.deepStrictEqual(copied.copies(), [])
      assert.deepStrictEqual(copied.workload(), theirs)
      assert.deepStrictEqual(copied.held(), [])
    }
  )

  it.effect("ends its session for good as soon as its container has ended, and says why and what to do", function* () {
    const { certificate, copied, copy, name } = yield* withCopy()
    const connection = yield* Scope.make()
    const { ended } = yield* client(opened(yield* Scope.provide(copied.connect(certificate, copy), connection)))
    copied.cluster.api.write(pods, name, { status: outOfMemory }, "default")
    yield* pass("2 seconds")
    assert.isDefined(ended())
    yield* Scope.close(connection, Exit.void)
    assert.deepInclude(refusedWith(yield* copied.connect(certificate, copy)), {
      code: 410,
      reason: "ReconnectNotPossible",
      message:
        `The session failed in cluster this cluster: the session's copy cannot be used: pod ${name} has ended, it is ` +
        'Failed: container "myapp" ended (OOMKilled, exit code 137); no pod takes its place, so run the command ' +
        "again, which makes a new copy."
    })
  })

  it.effect("ends after its idle time if its client never comes", function* () {
    const { copied } = yield* withCopy()
    yield* pass("25 seconds")
    assert.lengthOf(copied.copies(), 1)
    yield* pass("10 seconds")
    yield* pass("1 second")
    assert.deepStrictEqual(copied.copies(), [])
    assert.deepStrictEqual(copied.workload(), theirs)
  })

  it.effect("stays while a session uses it of which no watch has told", function* () {
    const { copied, name } = yield* withCopy()
    const { api } = copied.cluster
    api.setMuted(true)
    const target = { apiVersion: "v1", kind: "Pod", name, container: "myapp" }
    const owner = { userId: "id", username: "ann", hostname: "laptop", k8sUsername: "ann" }
    const spec = { namespace: "default", owner, target, copyTarget: { scaledown: true } }
    api.write(mirrordClusterSessions, "ff", { spec })
    yield* minutes(2)
    assert.lengthOf(copied.copies(), 1)
    api.erase(mirrordClusterSessions, "ff")
    yield* minutes(1)
    assert.deepStrictEqual(copied.copies(), [])
  })

  it.effect("stays while its client asks how far it is", function* () {
    const copied = yield* begin()
    const { metadata } = made(yield* copied.post(yield* copied.certificate()))
    for (let i = 0; i < 40; i++) {
      assert.strictEqual((yield* copied.get(metadata.name)).status.phase, "InProgress")
      yield* pass("5 seconds")
    }
  })

  it.effect("is one copy for two equal requests at the same time", function* () {
    const copied = yield* begin()
    const certificate = yield* copied.certificate()
    copied.cluster.api.before = ({ plural, verb }) =>
      plural === "pods" && verb === "create" ? Effect.sleep("700 millis") : Effect.void
    const answers = yield* Effect.all([copied.post(certificate), copied.post(certificate)], { concurrency: 2 })
    const [one, other] = answers.map((answer) => made(answer).metadata.name)
    assert.strictEqual(one, other)
    assert.lengthOf(copied.copies(), 1)
    assert.deepStrictEqual(copied.workload(), scaledDownFor(one ?? ""))
  })

  it.effect("has the spec that was sent, session key included: by it the client finds its copy again", function* () {
    const wish = { ...defaultSpec, session_key: "one" }
    const { copied, copy, name } = yield* withCopy(wish)
    assert.deepStrictEqual(at(copy, "spec"), wish)
    const listed = yield* copied.facade.listCopyTargets({ namespace: "default" })
    assert.deepStrictEqual(
      listed.map((one) => [at(one, "metadata", "name"), at(one, "spec")]),
      [[name, wish]]
    )
  })

  it.effect("is the same copy for the same user's same wish, and no other user's", function* () {
    const { certificate, copied, copy, name } = yield* withCopy()
    const again = made(yield* copied.post(certificate))
    assert.strictEqual(again.metadata.name, name)
    assert.isUndefined(again.status.creator_session.id, "its session has an id of its own")
    opened(yield* copied.connect(certificate, copy, 1n))
    opened(yield* copied.connect(certificate, copy, 2n))
    copied.cluster.trusted.add("bob")
    const bob = yield* copied.certificate("bob")
    let tried = 0
    copied.cluster.api.before = ({ plural, verb }) => {
      if (plural === "pods" && verb === "create") tried++
      return Effect.void
    }
    const { code, message } = refused(yield* copied.post(bob, defaultSpec, "bob"))
    assert.strictEqual(code, 409)
    assert.include(message, `deployment/myapp is scaled down already, for the copy ${name} of another session.`)
    assert.strictEqual(tried, 0, "a session could begin on a pod that goes at once")
    assert.lengthOf(copied.copies(), 1)
    assert.deepStrictEqual(copied.workload(), scaledDownFor(name))
    const stranger = refusedWith(yield* copied.connect(bob, copy, 3n))
    assert.deepStrictEqual(
      [stranger.code, stranger.message],
      [403, `The copy target ${name} belongs to another user; start the command again to get a copy of your own.`]
    )
  })

  it.effect(
    "gives back nothing that its owner has set: their number stays, and the copy is no copy of it any more",
    function* () {
      const { copied, name } = yield* withCopy()
      copied.scale(5)
      yield* pass("15 seconds")
      assert.deepStrictEqual(copied.workload(), { replicas: 5, labels: {} })
      const { failure_message, phase } = (yield* copied.get(name)).status
      assert.deepStrictEqual([phase, failure_message?.includes("it was given pods again")], ["Failed", true])
      copied.scale(0)
      yield* minutes(2)
      assert.deepStrictEqual(copied.copies(), [])
      assert.deepStrictEqual(copied.workload(), { replicas: 0, labels: {} }, "a later zero is the owner's own")
    }
  )

  it.effect("ends as usual when its target is deleted meanwhile, or made again", function* () {
    const { copied } = yield* withCopy()
    copied.cluster.api.erase(deployments, "myapp", "default")
    yield* minutes(2)
    assert.deepStrictEqual(copied.copies(), [])
    assert.deepStrictEqual(copied.held(), [])
    assert.isUndefined(copied.workload())
  })

  it.effect("gives the pods back at once when somebody deletes it", function* () {
    const { certificate, copied, copy, name } = yield* withCopy()
    opened(yield* copied.connect(certificate, copy))
    copied.cluster.api.erase(pods, name, "default")
    yield* pass("1 second")
    assert.deepStrictEqual(copied.workload(), theirs)
    const answer = yield* Effect.flip(copied.get(name))
    assert.deepStrictEqual([answer.code, answer.reason], [404, "NotFound"])
    assert.strictEqual(refusedWith(yield* copied.connect(certificate, copy)).reason, "ReconnectNotPossible")
    assert.strictEqual(refusedWith(yield* copied.connect(certificate, copy, 77n)).code, 404)
  })

  it.effect("is made although answers get lost, and others write its target at that time", function* () {
    const copied = yield* begin()
    const certificate = yield* copied.certificate()
    const { api } = copied.cluster
    const lost = new Set(["create pods", "patch deployments"])
    let touched = 0
    api.after = ({ plural, verb }) =>
      lost.delete(`${verb} ${plural}`)
        ? Effect.fail(new KubeError({ cluster: "a", operation: verb, reason: "Unreachable", detail: "reset" }))
        : Effect.void
    api.before = ({ plural, verb }) =>
      Effect.sync(() => {
        if (verb !== "patch" || plural !== "deployments" || touched === 2) return
        api.write(deployments, "myapp", { metadata: { annotations: { touched: String(touched++) } } }, "default")
      })
    const { metadata } = made(yield* copied.post(certificate))
    assert.deepStrictEqual(copied.workload(), scaledDownFor(metadata.name))
    assert.lengthOf(copied.copies(), 1)
    yield* minutes(2)
    assert.deepStrictEqual(copied.workload(), theirs)
  })
})

describe("a leader after another", () => {
  it.effect("gives back the pods of a target although it leads a primary of the same cluster now", function* () {
    const { copied } = yield* withCopy()
    yield* copied.kill()
    const name = clusterName("a")
    yield* copied.start({}, configurationOf([], { clusterName: name, defaultCluster: name, managementOnly: false }))
    yield* minutes(4)
    assert.deepStrictEqual(copied.copies(), [])
    assert.deepStrictEqual(copied.workload(), theirs)
  })

  it.effect("goes on: the copy serves, and its target has its pods back in the end", function* () {
    const { certificate, copied, copy, name } = yield* withCopy()
    yield* copied.kill()
    yield* minutes(1)
    assert.deepStrictEqual(copied.workload(), scaledDownFor(name), "nobody is there to give them back")
    yield* copied.start()
    assert.strictEqual((yield* copied.get(name)).status.phase, "Ready")
    const connection = yield* Scope.make()
    opened(yield* Scope.provide(copied.connect(certificate, copy), connection))
    yield* minutes(5)
    assert.lengthOf(copied.copies(), 1)
    yield* Scope.close(connection, Exit.void)
    yield* minutes(4)
    assert.deepStrictEqual(copied.copies(), [])
    assert.deepStrictEqual(copied.workload(), theirs)
    assert.deepStrictEqual(copied.held(), [])
  })

  it.effect("gives back the pods of a target whose copy was deleted while no operator was there", function* () {
    const { copied, name } = yield* withCopy()
    yield* copied.kill()
    copied.cluster.api.erase(pods, name, "default")
    yield* copied.start()
    yield* pass("1 second")
    assert.deepStrictEqual(copied.workload(), theirs)
  })

  it.effect("takes the pods for a copy that was made without, when its client asks once more", function* () {
    const copied = yield* begin()
    const certificate = yield* copied.certificate()
    const { api } = copied.cluster
    api.before = ({ plural, verb }) => (verb === "patch" && plural === "deployments" ? Effect.never : Effect.void)
    yield* Effect.forkChild(copied.post(certificate), { startImmediately: true })
    yield* pass("1 second")
    assert.lengthOf(copied.copies(), 1)
    assert.deepStrictEqual(copied.workload(), theirs)
    yield* copied.kill()
    api.before = () => Effect.void
    yield* copied.start()
    const { metadata } = made(yield* copied.post(certificate))
    assert.deepStrictEqual(
      copied.copies().map(({ metadata: { name } }) => name),
      [metadata.name]
    )
    assert.deepStrictEqual(copied.workload(), scaledDownFor(metadata.name))
  })

  it.effect("takes the pods for such a copy that runs by now, and leaves no second one behind", function* () {
    const copied = yield* begin()
    const certificate = yield* copied.certificate()
    const { api } = copied.cluster
    api.before = ({ plural, verb }) => (verb === "patch" && plural === "deployments" ? Effect.never : Effect.void)
    yield* Effect.forkChild(copied.post(certificate), { startImmediately: true })
    yield* pass("1 second")
    yield* copied.kill()
    api.before = () => Effect.void
    copied.runCopies()
    yield* copied.start()
    yield* minutes(0.1)
    const { metadata, status } = made(yield* copied.post(certificate))
    assert.deepStrictEqual(
      copied.copies().map(({ metadata: { name } }) => name),
      [metadata.name]
    )
    assert.strictEqual(status.phase, "Ready")
    assert.deepStrictEqual(copied.workload(), scaledDownFor(metadata.name))
  })
})

describe("copies", () => {
  it.effect("that replace nothing are many of one target, and are no pods of it", function* () {
    const spec = { ...defaultSpec, scale_down: false }
    const { certificate, copied, copy } = yield* withCopy(spec)
    const other = made(yield* copied.post(certificate, spec))
    assert.notStrictEqual(other.metadata.name, copy.metadata.name)
    assert.deepStrictEqual(copied.workload(), theirs)
    copied.runCopies()
    opened(yield* copied.connect(certificate, copy))
    opened(yield* copied.connect(certificate, other))
    opened(yield* connectTo(copied.cluster, request(certificate)))
    assert.deepStrictEqual(copied.cluster.agentPods, [copy.metadata.name, other.metadata.name, "myapp-1"])
  })

  it.effect("cost an operator nothing that has none", function* () {
    const copied = yield* begin()
    yield* minutes(30)
    const about = copied.cluster.api.calls.filter(({ plural }) => /pods|deployments|statefulsets|rollouts/.test(plural))
    assert.deepStrictEqual(
      about.map(({ plural, verb }) => `${verb} ${plural}`),
      ["list pods", "list deployments", "list statefulsets", "list rollouts"]
    )
    assert.deepStrictEqual((yield* describeOperator(copied)).status?.copy_targets, [])
    assert.deepStrictEqual(yield* copied.facade.listCopyTargets({ namespace: "default" }), [])
  })

  it.effect("of a rollout whose workload is not there are refused, and say what is missing", function* () {
    const copied = yield* begin()
    const workloadRef = { apiVersion: "apps/v1", kind: "Deployment", name: "gone" }
    copied.cluster.api.write(rollouts, "next", { spec: { workloadRef } }, "default")
    const spec = { ...defaultSpec, target: { rollout: "next", container: null } }
    const { code, message } = refused(yield* copied.post(yield* copied.certificate(), spec))
    assert.strictEqual(code, 404)
    assert.include(
      message,
      "rollout/next refers to deployment/gone (spec.workloadRef), and there is no deployment/gone"
    )
  })

  it.effect(
    "are for users who may connect to the target, within the bounds, and not in protected namespaces",
    function* () {
      const copied = yield* begin({
        bounds: { ...defaultBounds, sessionsPerUser: 1 }
      })
      const certificate = yield* copied.certificate()
      const stranger = refused(yield* copied.post(certificate, defaultSpec, "eve"))
      assert.strictEqual(stranger.code, 403)
      assert.include(stranger.message, 'User eve cannot proxy resource "targets"')
      assert.include(refused(yield* copied.post(undefined)).message, "x-client-der")
      made(yield* copied.post(certificate, { ...defaultSpec, scale_down: false }))
      const further = refused(yield* copied.post(certificate))
      assert.deepStrictEqual([further.code, further.message.includes("sessionsPerUser")], [403, true])
      assert.deepStrictEqual(copied.workload(), theirs)
    }
  )

  it.effect("are no more than the bounds allow, although they are asked for at the same moment", function* () {
    const copied = yield* begin({ bounds: { ...defaultBounds, sessionsPerUser: 2 } })
    const certificate = yield* copied.certificate()
    const answers = yield* Effect.all(
      [1, 2, 3, 4].map(() => copied.post(certificate, { ...defaultSpec, scale_down: false })),
      { concurrency: "unbounded" }
    )
    for (const answer of answers.filter(Result.isFailure)) assert.include(answer.failure.message, "sessionsPerUser")
    assert.lengthOf(answers.filter(Result.isSuccess), 2)
  })
})
