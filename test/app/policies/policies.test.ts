/** Policies from their objects to the messages of a session, in a single cluster and in a fleet. */

import { assert, describe } from "@effect/vitest"
import { Effect, Result } from "effect"
import { recordAnnotation } from "../../../src/domain/copies/copy-record.ts"
import type { ClientMessage } from "../../../src/domain/protocol/client-message.ts"
import { deployments, pods } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { mirrordClusterPolicies, mirrordPolicies } from "../../../src/domain/resources/policies/mirrord-policies.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { pass, request } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { connectTo, memberOf, opened, refusedWith, startWorld } from "../../support/memory-session.ts"
import { type MemoryCluster, openConnection } from "../../support/memory-world.ts"
import { certificateOf } from "../../support/user-certificate.ts"
import { allow, client, logs, refusalOf, steal } from "./policed.ts"

const objectsOf = ({ api }: MemoryCluster): number =>
  api.peekAll(mirrordMultiClusterSessions).length + api.peekAll(mirrordClusterSessions).length

const variables: ClientMessage = {
  _tag: "GetEnvVarsRequest",
  value: { envVarsFilter: new Set(), envVarsSelect: new Set(["*"]) }
}

describe("a policy of a single cluster", () => {
  it.effect("forbids stealing with its name, and holds at once for a session that has begun", function* () {
    const { world } = yield* startWorld()
    const cluster = memberOf(world, "a")
    const certificate = yield* certificateOf(cluster)
    const before = yield* client(opened(yield* connectTo(cluster, request(certificate))))
    yield* before.say(steal)
    assert.isUndefined(refusalOf(before.got))
    allow(cluster, "calm", { block: ["steal"], targetPath: "deploy/my*" }, "default")
    yield* pass("1 second")
    assert.isDefined(before.ended())
    const after = yield* client(opened(yield* connectTo(cluster, request(certificate))))
    yield* after.say(steal)
    assert.deepInclude(refusalOf(after.got), { policyName: "calm", reason: "it blocks stealing" })
    // Another namespace's policy, and one for another target, are none of this session's business.
    allow(cluster, "other", { block: ["mirror"] }, "elsewhere")
    allow(cluster, "another", { block: ["mirror"], targetPath: "deploy/other" })
    yield* pass("1 second")
    assert.isUndefined(after.ended())
    cluster.api.erase(mirrordPolicies, "calm", "default")
    yield* pass("1 second")
    assert.isDefined(after.ended())
  })

  it.effect("keeps variables from the program and tells the user", function* () {
    const { world } = yield* startWorld()
    const cluster = memberOf(world, "a")
    allow(cluster, "quiet", { env: { exclude: ["CLUS*"] } })
    yield* pass("1 second")
    const certificate = yield* certificateOf(cluster)
    const { got, say } = yield* client(opened(yield* connectTo(cluster, request(certificate))))
    yield* say(variables)
    const answer = got.find(({ _tag }) => _tag === "GetEnvVarsResponse")
    assert.deepStrictEqual(answer, { _tag: "GetEnvVarsResponse", value: { _tag: "Ok", value: new Map() } })
    assert.isTrue(logs(got).some((line) => line.includes('policy "quiet"') && line.includes("CLUS*")))
  })

  it.effect("is not needed to keep a session without a target from a subscription, which would end it", function* () {
    const { world } = yield* startWorld()
    const cluster = memberOf(world, "a")
    const certificate = yield* certificateOf(cluster)
    const ask = connectTo(cluster, request(certificate, { target: "targetless" }))
    const { ended, got, say } = yield* client(opened(yield* ask))
    yield* say(steal)
    assert.deepInclude(refusalOf(got), { policyName: "targetless", reason: "it blocks stealing" })
    yield* say(variables)
    assert.isTrue(got.some(({ _tag }) => _tag === "GetEnvVarsResponse"))
    assert.isUndefined(ended())
    assert.isFalse(
      logs(got).some((line) => line.includes("keeps environment variables")),
      "nothing of a target is kept from it"
    )
  })

  it.effect("is not needed to keep the variables of ephemeral agents from programs", function* () {
    const { world } = yield* startWorld()
    const cluster = memberOf(world, "a")
    cluster.areAgentsEphemeral = true
    const certificate = yield* certificateOf(cluster)
    const { got, say } = yield* client(opened(yield* connectTo(cluster, request(certificate))))
    yield* say(variables)
    const answer = got.find(({ _tag }) => _tag === "GetEnvVarsResponse")
    const value = new Map([["CLUSTER", "a"]])
    assert.deepStrictEqual(answer, { _tag: "GetEnvVarsResponse", value: { _tag: "Ok", value } })
  })

  it.effect("wants a profile before anything is made, with 403 and a sentence", function* () {
    const { world } = yield* startWorld()
    const cluster = memberOf(world, "a")
    allow(cluster, "tidy", { requireProfile: true, profileAllowlist: ["team"] })
    yield* pass("1 second")
    const certificate = yield* certificateOf(cluster)
    const ask = (query: string) => Effect.result(openConnection(cluster, request(certificate, { query })))
    const without = refusedWith(yield* ask("connect=true"))
    assert.deepStrictEqual([without.code, without.reason], [403, "Forbidden"])
    assert.match(without.message, /^The mirrord policy "tidy" wants every session .* \(allowed: "team"\)\.$/)
    assert.match(refusedWith(yield* ask("connect=true&profile=mine")).message, /does not allow profile "mine"/)
    assert.strictEqual(objectsOf(cluster), 0)
    opened(yield* connectTo(cluster, request(certificate, { query: "connect=true&profile=team" })))
  })

  it.effect("of one of the target's pods leaves that pod out, and the user is told why, once", function* () {
    const { world } = yield* startWorld()
    const cluster = memberOf(world, "a")
    const status = {
      phase: "Running",
      podIPs: [{ ip: "10.0.0.2" }],
      containerStatuses: [{ name: "myapp", ready: true, containerID: "containerd://def" }]
    }
    const spec = { nodeName: "node", containers: [{ name: "myapp" }] }
    cluster.api.write(pods, "myapp-2", { metadata: { labels: { app: "myapp" } }, spec, status }, "default")
    allow(cluster, "tidy", { requireProfile: true, targetPath: "pod/myapp-2" })
    yield* pass("1 second")
    const { got } = yield* client(opened(yield* connectTo(cluster, request(yield* certificateOf(cluster)))))
    yield* pass("1 minute")
    const told = logs(got).filter((line) => line.includes('pod myapp-2 takes no part: The mirrord policy "tidy" wants'))
    assert.lengthOf(told, 1, logs(got).join("\n"))
  })

  it.effect("for a deployment holds for a copy of it whose pod is the target, also if it comes later", function* () {
    const { world } = yield* startWorld()
    const cluster = memberOf(world, "a")
    const record = {
      spec: { target: { deployment: "copied" } },
      owner: { username: "u", hostname: "h", k8sUsername: "k", userId: "i" },
      session: "1",
      target: "deployment/copied",
      container: "myapp"
    }
    cluster.api.write(pods, "myapp-1", { metadata: { annotations: recordAnnotation(record) } }, "default")
    yield* pass("1 second")
    const certificate = yield* certificateOf(cluster)
    const wanted = request(certificate, { target: "pod.myapp-1" })
    const before = yield* client(opened(yield* connectTo(cluster, wanted)))
    yield* before.say(steal)
    assert.isUndefined(refusalOf(before.got))
    allow(cluster, "calm", { block: ["steal"], targetPath: "deploy/copied" })
    yield* pass("1 second")
    assert.isDefined(before.ended())
    const { got, say } = yield* client(opened(yield* connectTo(cluster, wanted)))
    yield* say(steal)
    assert.deepInclude(refusalOf(got), { policyName: "calm" })
  })

  it.effect("that cannot be read refuses everybody in its namespace, and lets running sessions be", function* () {
    const { world } = yield* startWorld()
    const cluster = memberOf(world, "a")
    const certificate = yield* certificateOf(cluster)
    const before = yield* client(opened(yield* connectTo(cluster, request(certificate, { sessionId: "1" }))))
    allow(cluster, "broken", { fs: { notFound: ["("] } }, "default")
    yield* pass("1 second")
    const refused = refusedWith(yield* connectTo(cluster, request(certificate)))
    assert.strictEqual(refused.code, 403)
    assert.match(refused.message, /^MirrordPolicy default\/broken cannot be enforced: spec\.fs\.notFound\[0\]: "\("/)
    assert.isUndefined(before.ended())
    cluster.api.erase(mirrordPolicies, "broken", "default")
    yield* pass("1 second")
    opened(yield* connectTo(cluster, request(certificate)))
    assert.isUndefined(before.ended())
  })

  it.effect("of which an API server does not say whether it applies holds as soon as that is known", function* () {
    const { world } = yield* startWorld()
    const cluster = memberOf(world, "a")
    const certificate = yield* certificateOf(cluster)
    const { ended } = yield* client(opened(yield* connectTo(cluster, request(certificate))))
    const gone = new KubeError({ cluster: "a", operation: "get", reason: "Unreachable", detail: "gone" })
    cluster.api.before = ({ plural, verb }) =>
      plural === deployments.plural && verb === "get" ? Effect.fail(gone) : Effect.void
    allow(cluster, "calm", { block: ["steal"], targetPath: "deploy/my*" })
    yield* pass("60 seconds")
    assert.isUndefined(ended())
    cluster.api.before = () => Effect.void
    yield* pass("30 seconds")
    assert.isDefined(ended())
  })

  it.effect("is not known while the operator may not list: nobody is served, and the sentence says why", function* () {
    const { world } = yield* startWorld()
    const cluster = memberOf(world, "a")
    const certificate = yield* certificateOf(cluster)
    cluster.api.before = ({ plural, verb }) =>
      plural === mirrordClusterPolicies.plural && (verb === "list" || verb === "watch")
        ? Effect.fail(
            new KubeError({ cluster: "a", operation: verb, reason: "Forbidden", code: 403, detail: "no right" })
          )
        : Effect.void
    cluster.api.endWatches()
    yield* pass("2 seconds")
    const refused = refusedWith(yield* connectTo(cluster, request(certificate)))
    assert.strictEqual(refused.code, 500)
    assert.include(refused.message, "The objects of kind MirrordClusterPolicy cannot be read: no right.")
  })
})

describe("a policy in a fleet", () => {
  it.effect("of the primary holds for the whole session, before anything is made", function* () {
    const { certificate, world } = yield* startWorld()
    allow(world.primary, "tidy", { requireProfile: true })
    yield* pass("1 second")
    assert.match(refusedWith(yield* connectTo(world.primary, request(certificate))).message, /policy "tidy"/)
    assert.strictEqual(objectsOf(world.primary), 0)
    allow(world.primary, "calm", { block: ["steal"], targetPath: "deploy/myapp" })
    yield* pass("1 second")
    const wanted = request(certificate, { query: "connect=true&profile=any" })
    const { got, say } = yield* client(opened(yield* connectTo(world.primary, wanted)))
    yield* say(steal)
    assert.deepInclude(refusalOf(got), { policyName: "calm" })
  })

  it.effect(
    "of a member holds there: for the default's variables, and for a steal that only one member forbids",
    function* () {
      const { certificate, world } = yield* startWorld()
      allow(memberOf(world, "a"), "quiet", { env: { exclude: ["*"] } }, "default")
      allow(memberOf(world, "b"), "calm", { block: ["steal"] }, "default")
      yield* pass("1 second")
      const { got, say } = yield* client(opened(yield* connectTo(world.primary, request(certificate))))
      yield* say(variables)
      const answer = got.find(({ _tag }) => _tag === "GetEnvVarsResponse")
      assert.deepStrictEqual(answer, { _tag: "GetEnvVarsResponse", value: { _tag: "Ok", value: new Map() } })
      yield* say(steal)
      yield* pass("3 seconds")
      assert.deepInclude(refusalOf(got), { policyName: "calm" })
    }
  )

  it.effect(
    "of a member that comes in the middle of a session leaves that member out, and the user is told why, once",
    function* () {
      const { certificate, world } = yield* startWorld()
      const { got } = yield* client(opened(yield* connectTo(world.primary, request(certificate))))
      yield* pass("1 second")
      allow(memberOf(world, "b"), "tidy", { requireProfile: true })
      for (let seconds = 0; seconds < 120; seconds += 10) yield* pass("10 seconds")
      const told = logs(got).filter((line) => line.includes("cluster b takes no part") && line.includes('"tidy"'))
      assert.lengthOf(told, 1)
    }
  )

  it.effect("of the default that refuses the session refuses the user, with the member's sentence", function* () {
    const { certificate, world } = yield* startWorld()
    allow(memberOf(world, "a"), "tidy", { requireProfile: true })
    yield* pass("1 second")
    const result = yield* connectTo(world.primary, request(certificate))
    assert.isTrue(Result.isFailure(result))
    const refused = refusedWith(result)
    assert.strictEqual(refused.code, 403)
    assert.include(refused.message, 'policy "tidy"')
    opened(yield* connectTo(world.primary, request(certificate, { query: "connect=true&profile=team" })))
  })
})
