import { assert, describe } from "@effect/vitest"
import { Effect } from "effect"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { at } from "../../../src/domain/json.ts"
import { kindAddress, type TargetKind, targetKinds } from "../../../src/domain/targets/target.ts"
import { KubeError } from "../../../src/ports/kube-api.ts"
import { it } from "../../support/effect-it.ts"
import { memberOf, refusedWith, startWorld } from "../../support/memory-session.ts"
import { deploy, type MemoryCluster } from "../../support/memory-world.ts"

const write = (cluster: MemoryCluster, kind: TargetKind, name: string, object: object, namespace = "shop") =>
  cluster.api.write({ ...kindAddress(kind), scope: "Namespaced" }, name, object, namespace)

/** A template with a sidecar that sorts first. */
const template = { spec: { containers: [{ name: "web" }, { name: "istio-proxy" }, { name: "b" }] } }

/** One object of each kind in namespace `shop`. */
const furnish = (cluster: MemoryCluster): void => {
  for (const kind of ["statefulset", "replicaset", "rollout", "job"] as const)
    write(cluster, kind, "x", { spec: { template } })
  const annotations = { "kubectl.kubernetes.io/default-container": "web" }
  write(cluster, "cronjob", "x", {
    spec: { jobTemplate: { spec: { template: { ...template, metadata: { annotations } } } } }
  })
  write(cluster, "service", "x", { spec: { selector: { app: "x" } } })
  deploy(cluster, "x", "shop")
}

const operatorOf = ({ operator }: MemoryCluster) => {
  if (operator === undefined) throw new Error("no operator")
  return operator
}

const names = (items: ReadonlyArray<object>) =>
  items.map((item) => `${String(at(item, "metadata", "namespace"))} ${String(at(item, "metadata", "name"))}`)

const target = (name: string, json: object | null, namespace = "shop") => ({
  apiVersion: "operator.metalbear.co/v1",
  kind: "Target",
  metadata: { name, namespace },
  spec: { target: json }
})

describe("the targets of a cluster", () => {
  it.effect("are listed by kind, each with the container that a session gets", function* () {
    const { world } = yield* startWorld()
    const a = memberOf(world, "a")
    furnish(a)
    assert.deepStrictEqual(yield* operatorOf(a).listTargets("shop"), [
      target("deployment.x", { deployment: "x", container: "x" }),
      target("pod.x-1", { pod: "x-1", container: "x" }),
      target("rollout.x", { rollout: "x", container: "b" }),
      target("job.x", { job: "x", container: "b" }),
      target("cronjob.x", { cron_job: "x", container: "web" }),
      target("statefulset.x", { stateful_set: "x", container: "b" }),
      target("service.x", { service: "x", container: null }),
      target("replicaset.x", { replica_set: "x", container: "b" })
    ])
    const everywhere = names(yield* operatorOf(a).listTargets(undefined))
    assert.deepStrictEqual(everywhere.slice(0, 2), ["default deployment.myapp", "shop deployment.x"])
  })

  it.effect("are none of agents, of copies, of protected namespaces, and of Services without pods", function* () {
    const { world } = yield* startWorld()
    const a = memberOf(world, "a")
    write(a, "job", "agent", { metadata: { labels: { app: "mirrord" } }, spec: { template } })
    write(a, "pod", "copy", { metadata: { labels: { "operator.metalbear.co/owner": "o" } }, spec: template.spec })
    write(a, "service", "elsewhere", { spec: { externalName: "example.com" } })
    deploy(a, "operator", "mirrord")
    assert.deepStrictEqual(yield* operatorOf(a).listTargets("shop"), [])
    assert.deepStrictEqual(yield* operatorOf(a).listTargets("mirrord"), [])
    const { code } = refusedWith(yield* Effect.result(operatorOf(a).target("mirrord", "deploy.operator")))
    assert.strictEqual(code, 403)
  })

  it.effect("are all but those of kinds that the cluster does not know", function* () {
    const { world } = yield* startWorld()
    const a = memberOf(world, "a")
    const error = { cluster: "a", operation: "list", detail: "no such kind" } as const
    a.api.before = ({ plural }) =>
      plural === "rollouts" ? Effect.fail(new KubeError({ ...error, reason: "NotFound", code: 404 })) : Effect.void
    assert.deepStrictEqual(names(yield* operatorOf(a).listTargets(undefined)), [
      "default deployment.myapp",
      "default pod.myapp-1"
    ])
    a.api.before = ({ plural }) =>
      plural === "jobs" ? Effect.fail(new KubeError({ ...error, reason: "Forbidden", code: 403 })) : Effect.void
    const { code, message } = refusedWith(yield* Effect.result(operatorOf(a).listTargets("default")))
    assert.deepStrictEqual([code, message], [500, "The targets of kind job cannot be listed: no such kind."])
  })

  it.effect("are read one by one, under both names of a deployment, with the container filled in", function* () {
    const { world } = yield* startWorld()
    const a = memberOf(world, "a")
    furnish(a)
    const operator = operatorOf(a)
    for (const kind of targetKinds.filter((known) => !["pod", "deployment", "service"].includes(known)))
      assert.match(
        String(at(yield* operator.target("shop", `${kind}.x`), "spec", "target", "container")),
        kind === "cronjob" ? /^web$/ : /^b$/
      )
    for (const name of ["deploy.x", "deployment.x", "deploy.x.container.x"])
      assert.deepStrictEqual(yield* operator.target("shop", name), target(name, { deployment: "x", container: "x" }))
    // The pods tell it.
    assert.deepStrictEqual(
      yield* operator.target("shop", "service.x"),
      target("service.x", { service: "x", container: "x" })
    )
    assert.deepStrictEqual(yield* operator.target("shop", "targetless"), target("targetless", null))
    const refusals = [
      ["deploy.nothing", 404, /^There is no deployment\/nothing in namespace shop; check the target's name/],
      ["deploy.x.container.no", 404, /^Deployment\/x has no container no; check/],
      ["service.nothing", 404, /^There is no service\/nothing in namespace shop; check/],
      ["label", 400, /label_target/],
      ["nonsense", 400, /^The target "nonsense" is not valid/]
    ] as const
    for (const [name, code, message] of refusals) {
      const refused = refusedWith(yield* Effect.result(operator.target("shop", name)))
      assert.strictEqual(refused.code, code)
      assert.match(refused.message, message)
    }
  })
})

describe("the targets of a primary", () => {
  it.effect("are those of its default cluster", function* () {
    const { world } = yield* startWorld()
    const [a, b] = [memberOf(world, "a"), memberOf(world, "b")]
    furnish(a)
    deploy(b, "only-b", "shop")
    deploy(world.primary, "only-primary", "shop")
    const primary = operatorOf(world.primary)
    assert.deepStrictEqual(yield* primary.listTargets("shop"), yield* operatorOf(a).listTargets("shop"))
    assert.deepStrictEqual(
      yield* primary.target("shop", "cronjob.x"),
      target("cronjob.x", { cron_job: "x", container: "web" })
    )
    const missing = refusedWith(yield* Effect.result(primary.target("shop", "deploy.only-b")))
    assert.strictEqual(missing.code, 404)
    assert.match(missing.message, /^The default cluster a does not tell its targets: There is no deployment\/only-b/)
    a.api.setReachable(false)
    const away = refusedWith(yield* Effect.result(primary.listTargets("shop")))
    assert.strictEqual(away.code, 500)
    assert.match(away.message, /^The default cluster a does not tell its targets: /)
  })

  it.effect("are its own where it is the default cluster itself, which it does not ask in a circle", function* () {
    const { world } = yield* startWorld({ managementOnly: false, defaultCluster: clusterName("primary") })
    deploy(world.primary, "own", "shop")
    assert.deepStrictEqual(names(yield* operatorOf(world.primary).listTargets("shop")), [
      "shop deployment.own",
      "shop pod.own-1"
    ])
  })
})
