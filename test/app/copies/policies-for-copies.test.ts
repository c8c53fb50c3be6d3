/** Policies and copies of targets: which copies may be made, and what their sessions may do. */

import { assert, describe } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import { policyLayer } from "../../../src/app/policies/policy-capability.ts"
import { SessionLimits } from "../../../src/app/services/session-limits.ts"
import { pods } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordPolicies } from "../../../src/domain/resources/policies/mirrord-policies.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { pass, request } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { connectTo, opened, refusedWith } from "../../support/memory-session.ts"
import { memoryCluster } from "../../support/memory-world.ts"
import { servicesOf } from "../../support/services.ts"
import { allow, client, logs, refusalOf, steal } from "../policies/policed.ts"
import { begin, type Copied, made, minutes, refused, replicas, defaultSpec } from "./copied.ts"
import { beginFleet, type FleetCopied } from "./fleet-copied.ts"

const noScaleDown = { block: ["copy-target-scale-down"], targetPath: "deploy/myapp" }
const beside = { ...defaultSpec, scale_down: false }

/** A copy whose container runs. */
const running = (copied: Copied, certificate: string, spec: object = defaultSpec) =>
  Effect.gen(function* () {
    const copy = made(yield* copied.post(certificate, spec))
    copied.runCopies()
    yield* pass("1 second")
    return copy
  })

/** A copy over many clusters whose containers run. */
const runningInAll = (copied: FleetCopied, spec: object = defaultSpec) =>
  Effect.gen(function* () {
    const copy = made(yield* copied.post(spec))
    yield* pass("1 second")
    copied.runCopies("a", "b")
    yield* pass("1 second")
    assert.strictEqual(yield* copied.phase(copy.metadata.name), "Ready")
    return copy
  })

const written = (allowed: Parameters<typeof allow>) =>
  Effect.andThen(
    Effect.sync(() => allow(...allowed)),
    pass("1 second")
  )

describe("a policy of a single cluster", () => {
  it.effect(
    "against scale-down refuses such a copy with its name before anything is made, and no other copy",
    function* () {
      const copied = yield* begin()
      const certificate = yield* copied.certificate()
      yield* written([copied.cluster, "calm", noScaleDown, "default"])
      const { code, message, reason } = refused(yield* copied.post(certificate))
      assert.deepStrictEqual([code, reason], [403, "Forbidden"])
      assert.match(message, /^Operation was blocked by policy `calm`: .*Take feature\.copy_target\.scale_down out/)
      assert.lengthOf(copied.copies(), 0)
      assert.strictEqual(copied.workload()?.replicas, replicas)
      made(yield* copied.post(certificate, beside))
    }
  )

  it.effect("against scale-down that comes later ends the session, and the workload has its pods back", function* () {
    const copied = yield* begin()
    const certificate = yield* copied.certificate()
    const copy = yield* running(copied, certificate)
    const connection = yield* Scope.make()
    const { ended } = yield* client(opened(yield* Scope.provide(copied.connect(certificate, copy), connection)))
    yield* written([copied.cluster, "other", { ...noScaleDown, targetPath: "deploy/other" }, "default"])
    assert.isUndefined(ended())
    yield* written([copied.cluster, "calm", noScaleDown, "default"])
    assert.isDefined(ended())
    yield* Scope.close(connection, Exit.void)
    const { code, message } = refusedWith(yield* Effect.scoped(copied.connect(certificate, copy)))
    assert.deepStrictEqual([code, message.includes("policy `calm`")], [403, true])
    yield* minutes(4)
    assert.lengthOf(copied.copies(), 0)
    assert.strictEqual(copied.workload()?.replicas, replicas)
  })

  it.effect("holds for sessions on copies of its target only if it says so, at once", function* () {
    const copied = yield* begin()
    const certificate = yield* copied.certificate()
    const copy = yield* running(copied, certificate)
    const rules = { block: ["steal"], targetPath: "deploy/myapp" }
    yield* written([copied.cluster, "calm", rules, "default"])
    yield* written([copied.cluster, "other", { block: ["steal"], targetPath: "pod/*", appliesToCopyTargets: true }])
    const before = yield* client(opened(yield* copied.connect(certificate, copy)))
    yield* before.say(steal)
    assert.isUndefined(refusalOf(before.got))
    assert.isUndefined(before.ended())
    yield* written([copied.cluster, "calm", { ...rules, appliesToCopyTargets: true }, "default"])
    assert.isDefined(before.ended())
    const after = yield* client(opened(yield* copied.connect(certificate, copy)))
    yield* after.say(steal)
    assert.deepInclude(refusalOf(after.got), { policyName: "calm", reason: "it blocks stealing" })
  })

  it.effect("holds for whoever names the copy's pod as a target like any other", function* () {
    const copied = yield* begin()
    const certificate = yield* copied.certificate()
    const { metadata } = yield* running(copied, certificate)
    yield* written([copied.cluster, "calm", { block: ["steal"], targetPath: "deploy/myapp" }, "default"])
    const wanted = request(certificate, { target: `pod.${metadata.name}`, sessionId: "77" })
    const { got, say } = yield* client(opened(yield* connectTo(copied.cluster, wanted)))
    yield* say(steal)
    assert.deepInclude(refusalOf(got), { policyName: "calm" })
  })

  it.effect("holds for a pod that is no copy, whatever its session says", function* () {
    const cluster = memoryCluster("a")
    cluster.api.write(pods, "plain", {}, "default")
    allow(cluster, "calm", { block: ["steal"], targetPath: "pod/plain" })
    const made = yield* Effect.provideContext(Layer.build(policyLayer), yield* servicesOf({ api: cluster.api }))
    yield* pass("1 second")
    const target = { _tag: "Workload", kind: "pod", name: "plain", container: undefined } as const
    const session = { namespace: "default", target, containers: undefined, profile: undefined }
    const found = yield* Context.get(made, SessionLimits).ask({ ...session, copy: { scaledown: false } })
    assert.deepStrictEqual(
      found.policies.policies.map(({ name }) => name),
      ["calm"]
    )
  })

  it.effect("about profiles refuses the copy's session, and not the copy, for which no profile is told", function* () {
    const copied = yield* begin()
    const certificate = yield* copied.certificate()
    yield* written([copied.cluster, "tidy", { requireProfile: true, appliesToCopyTargets: true }])
    const copy = yield* running(copied, certificate)
    assert.match(refusedWith(yield* copied.connect(certificate, copy)).message, /^The mirrord policy "tidy" wants/)
    copied.cluster.api.erase(mirrordPolicies, "tidy")
  })

  it.effect("that cannot be read refuses every copy, since it may forbid it", function* () {
    const copied = yield* begin()
    const certificate = yield* copied.certificate()
    yield* written([copied.cluster, "broken", { fs: { notFound: ["("] } }, "default"])
    const { code, message } = refused(yield* copied.post(certificate, beside))
    assert.deepStrictEqual([code, message.startsWith("MirrordPolicy default/broken cannot be")], [403, true])
  })
})

describe("a policy in a fleet", () => {
  it.effect("of the primary against scale-down refuses the copy before anything is made", function* () {
    const copied = yield* beginFleet()
    yield* written([copied.world.primary, "calm", noScaleDown])
    const { code, message } = refused(yield* copied.post())
    assert.deepStrictEqual([code, message.startsWith("Operation was blocked by policy `calm`")], [403, true])
    assert.deepStrictEqual(copied.names(), { a: [], b: [] })
    assert.deepStrictEqual(copied.workloads(), { a: replicas, b: replicas })
  })

  it.effect("of the primary holds for the session on copies of its target, if it says so", function* () {
    const copied = yield* beginFleet()
    const copy = yield* runningInAll(copied)
    const rules = { block: ["steal"], targetPath: "deploy/myapp" }
    yield* written([copied.world.primary, "calm", rules])
    const before = yield* client(opened(yield* copied.connect(copy)))
    yield* before.say(steal)
    assert.isUndefined(refusalOf(before.got))
    yield* written([copied.world.primary, "calm", { ...rules, appliesToCopyTargets: true }])
    assert.isDefined(before.ended())
    const after = yield* client(opened(yield* copied.connect(copy)))
    yield* after.say(steal)
    assert.deepInclude(refusalOf(after.got), { policyName: "calm" })
  })

  it.effect("of the primary holds for a session whose copy's target the next leader cannot find out", function* () {
    const copied = yield* beginFleet()
    const copy = yield* runningInAll(copied)
    yield* written([
      copied.world.primary,
      "calm",
      { block: ["steal"], targetPath: "deploy/*", appliesToCopyTargets: true }
    ])
    opened(yield* copied.connect(copy))
    const gone = new KubeError({ cluster: "a", operation: "list", reason: "Unreachable", detail: "gone" })
    for (const name of ["a", "b"])
      copied.member(name).api.before = ({ plural, verb }) =>
        plural === "copytargets" && verb === "list" ? Effect.fail(gone) : Effect.void
    yield* copied.replace(copied.world.primary)
    const { got, say } = yield* client(opened(yield* copied.connect(copy)))
    yield* say(steal)
    assert.deepInclude(refusalOf(got), { policyName: "calm" })
    // The session knows that its copy has taken the pods.
    yield* written([copied.world.primary, "still", noScaleDown])
    assert.match(refusedWith(yield* copied.connect(copy)).message, /^Operation was blocked by policy `still`/)
  })

  it.effect("of a member holds there for the session on its copy, if it says so", function* () {
    const copied = yield* beginFleet()
    const copy = yield* runningInAll(copied)
    const rules = { block: ["steal"], targetPath: "deploy/myapp" }
    yield* written([copied.member("a"), "first", rules, "default"])
    yield* written([copied.member("b"), "second", { ...rules, appliesToCopyTargets: true }, "default"])
    const { got, say } = yield* client(opened(yield* copied.connect(copy)))
    yield* say(steal)
    yield* pass("3 seconds")
    assert.deepInclude(refusalOf(got), { policyName: "second" })
  })

  it.effect(
    "of a member against scale-down that comes later leaves that member out, and the user is told why",
    function* () {
      const copied = yield* beginFleet()
      const copy = yield* runningInAll(copied)
      const { ended, got } = yield* client(opened(yield* copied.connect(copy)))
      yield* written([copied.member("b"), "calm", noScaleDown, "default"])
      yield* pass("10 seconds")
      assert.isUndefined(ended())
      const told = logs(got).filter((line) => line.includes("cluster b takes no part"))
      assert.isTrue(
        told.some((line) => line.includes("blocked by policy `calm`")),
        told.join("\n")
      )
    }
  )
})
