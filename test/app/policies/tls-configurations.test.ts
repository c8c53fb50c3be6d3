/** TLS configurations from their objects to the agents of a session, in a single cluster and in a fleet. */

import { assert, describe } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { tlsLayer } from "../../../src/app/policies/tls-capability.ts"
import { TlsSettings, type TlsSubject } from "../../../src/app/services/tls-settings.ts"
import { pods, replicaSets } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterPolicies, mirrordPolicies } from "../../../src/domain/resources/policies/mirrord-policies.ts"
import {
  mirrordClusterTlsStealConfigs,
  mirrordTlsStealConfigs
} from "../../../src/domain/resources/policies/mirrord-tls-steal-configs.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { pass, request } from "../../support/connect-request.ts"
import { it } from "../../support/effect-it.ts"
import { connectTo, memberOf, opened, refusedWith, startWorld } from "../../support/memory-session.ts"
import { type MemoryCluster, memoryCluster } from "../../support/memory-world.ts"
import { servicesOf } from "../../support/services.ts"
import { certificateOf } from "../../support/user-certificate.ts"

const port = (number: number) => ({
  port: number,
  agentAsServer: { authentication: { certPem: "/cert.pem", keyPem: "/key.pem" } },
  agentAsClient: { verification: { acceptAnyCert: true } }
})

const configure = (cluster: MemoryCluster, name: string, spec: object, namespace?: string): void => {
  const resource = namespace === undefined ? mirrordClusterTlsStealConfigs : mirrordTlsStealConfigs
  cluster.api.write(resource, name, { spec }, namespace)
}

const subject: TlsSubject = {
  namespace: "default",
  target: { _tag: "Workload", kind: "pod", name: "myapp-1", container: undefined },
  placement: {
    podName: "myapp-1",
    podNamespace: "default",
    podUid: "1",
    podLabels: {},
    podOwners: [],
    podIps: [],
    nodeName: "node",
    containerName: "app",
    containerId: "1",
    runtime: "containerd",
    guessed: false,
    shareProcessNamespace: false,
    mesh: undefined
  }
}

const isRule = (plural: string): boolean =>
  [mirrordTlsStealConfigs, mirrordClusterTlsStealConfigs, mirrordPolicies, mirrordClusterPolicies].some(
    (rule) => rule.plural === plural
  )

const portsOf = ({ agentTls }: MemoryCluster) => agentTls.map((ports) => ports.map((each) => each.port))

const reads = (cluster: MemoryCluster): { readonly number: number } => {
  const counted = { number: 0 }
  cluster.api.before = ({ plural, verb }) =>
    Effect.sync(() => {
      if (verb === "get" && plural === pods.plural) counted.number++
    })
  return counted
}

describe("the agents of a single cluster", () => {
  it.effect("get the TLS ports of their target, and others nothing", function* () {
    const { world } = yield* startWorld()
    const cluster = memberOf(world, "a")
    const certificate = yield* certificateOf(cluster)
    configure(cluster, "mine", { ports: [port(443)], targetPath: "deploy/my*" }, "default")
    configure(cluster, "elsewhere", { ports: [port(80)] }, "other")
    configure(cluster, "all", { ports: [port(8443)] })
    yield* pass("1 second")
    opened(yield* connectTo(cluster, request(certificate)))
    opened(yield* connectTo(cluster, request(certificate, { sessionId: "2", target: "targetless" })))
    assert.deepStrictEqual(portsOf(cluster), [[443, 8443], []])
  })

  it.effect("get the same whether the target is a deployment, or a pod of it", function* () {
    const { world } = yield* startWorld()
    const cluster = memberOf(world, "a")
    const certificate = yield* certificateOf(cluster)
    const owner = (kind: string, name: string) => ({ apiVersion: "apps/v1", kind, name, uid: name })
    cluster.api.write(
      replicaSets,
      "myapp-1",
      { metadata: { ownerReferences: [owner("Deployment", "myapp")] } },
      "default"
    )
    cluster.api.write(pods, "myapp-1", { metadata: { ownerReferences: [owner("ReplicaSet", "myapp-1")] } }, "default")
    configure(cluster, "by-path", { ports: [port(443)], targetPath: "deploy/myapp" })
    configure(cluster, "by-label", { ports: [port(8443)], selector: { matchLabels: { app: "myapp" } } })
    yield* pass("1 second")
    opened(yield* connectTo(cluster, request(certificate)))
    opened(yield* connectTo(cluster, request(certificate, { sessionId: "2", target: "pod.myapp-1" })))
    assert.deepStrictEqual(portsOf(cluster), [
      [443, 8443],
      [443, 8443]
    ])
  })

  it.effect("cost no look at the target's owners where no configuration selects by them", function* () {
    const { world } = yield* startWorld()
    const cluster = memberOf(world, "a")
    const certificate = yield* certificateOf(cluster)
    configure(cluster, "all", { ports: [port(443)] })
    yield* pass("1 second")
    const before = reads(cluster)
    opened(yield* connectTo(cluster, request(certificate)))
    assert.deepStrictEqual([before.number, portsOf(cluster)], [0, [[443]]])
  })

  it.effect(
    "are not started with a configuration that cannot be used: the user is told, without its key",
    function* () {
      const { world } = yield* startWorld()
      const cluster = memberOf(world, "a")
      const certificate = yield* certificateOf(cluster)
      const keyPem = "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----"
      const broken = { ...port(443), agentAsServer: { authentication: { certPem: "/cert.pem", keyPem } } }
      configure(cluster, "broken", { ports: [broken], targetPath: "deploy/myapp" }, "default")
      yield* pass("1 second")
      const { code, message } = refusedWith(yield* connectTo(cluster, request(certificate)))
      assert.strictEqual(code, 500)
      assert.include(message, "MirrordTlsStealConfig default/broken cannot be used: spec.ports[0].agentAsServer")
      assert.notInclude(message, "c2VjcmV0")
      assert.deepStrictEqual(cluster.agentPods, [])
      cluster.api.erase(mirrordTlsStealConfigs, "broken", "default")
      yield* pass("1 second")
      opened(yield* connectTo(cluster, request(certificate, { sessionId: "2" })))
    }
  )

  it.effect("are not started while the operator may not list configurations, and the sentence says why", function* () {
    const { world } = yield* startWorld()
    const cluster = memberOf(world, "a")
    const certificate = yield* certificateOf(cluster)
    cluster.api.before = ({ plural, verb }) =>
      plural === mirrordTlsStealConfigs.plural && (verb === "list" || verb === "watch")
        ? Effect.fail(
            new KubeError({ cluster: "a", operation: verb, reason: "Forbidden", code: 403, detail: "no right" })
          )
        : Effect.void
    cluster.api.endWatches()
    yield* pass("2 seconds")
    const refused = refusedWith(yield* connectTo(cluster, request(certificate)))
    assert.strictEqual(refused.code, 500)
    assert.include(refused.message, "The objects of kind MirrordTlsStealConfig cannot be read: no right.")
  })

  it.effect("wait until the configurations are read: after a restart the sessions are there before them", function* () {
    const cluster = memoryCluster("a")
    configure(cluster, "all", { ports: [port(443)] })
    cluster.api.before = ({ verb }) => (verb === "list" ? Effect.sleep("2 seconds") : Effect.void)
    const made = yield* Effect.provideContext(Layer.build(tlsLayer), yield* servicesOf({ api: cluster.api }))
    const asked = yield* Effect.forkChild(Context.get(made, TlsSettings).stealTls(subject), { startImmediately: true })
    yield* pass("5 seconds")
    assert.deepStrictEqual(
      (yield* Fiber.join(asked)).map((each) => each.port),
      [443]
    )
  })

  it.effect("wait for an API server that refuses everything until it has read its roles", function* () {
    const { world } = yield* startWorld()
    const cluster = memberOf(world, "a")
    const certificate = yield* certificateOf(cluster)
    const refused = new KubeError({
      cluster: "a",
      operation: "list",
      reason: "Forbidden",
      code: 403,
      detail: "no right"
    })
    let isStarting = true
    cluster.api.before = ({ plural, verb }) =>
      isStarting && isRule(plural) && (verb === "list" || verb === "watch") ? Effect.fail(refused) : Effect.void
    cluster.api.endWatches()
    yield* pass("2 seconds")
    const connecting = yield* Effect.forkChild(connectTo(cluster, request(certificate)), { startImmediately: true })
    isStarting = false
    opened(yield* Fiber.join(connecting))
  })

  it.effect("wait while it cannot be told whether a configuration applies", function* () {
    const { world } = yield* startWorld()
    const cluster = memberOf(world, "a")
    const certificate = yield* certificateOf(cluster)
    configure(cluster, "some", { ports: [port(443)], selector: { matchLabels: { app: "myapp" } } })
    yield* pass("1 second")
    const gone = new KubeError({ cluster: "a", operation: "get", reason: "Forbidden", detail: "no right" })
    cluster.api.before = ({ plural, verb }) =>
      plural === pods.plural && verb === "get" ? Effect.fail(gone) : Effect.void
    const { message } = refusedWith(yield* connectTo(cluster, request(certificate)))
    assert.include(message, "it cannot be told which TLS configurations hold for this target: no right")
  })
})

describe("the agents of a fleet", () => {
  it.effect("get the TLS ports of their own cluster", function* () {
    const { certificate, world } = yield* startWorld()
    configure(world.primary, "nobody", { ports: [port(80)] })
    configure(memberOf(world, "a"), "mine", { ports: [port(443)] }, "default")
    configure(memberOf(world, "b"), "mine", { ports: [port(8443)] }, "default")
    yield* pass("1 second")
    opened(yield* connectTo(world.primary, request(certificate)))
    assert.deepStrictEqual(portsOf(memberOf(world, "a")), [[443]])
    assert.deepStrictEqual(portsOf(memberOf(world, "b")), [[8443]])
  })
})
