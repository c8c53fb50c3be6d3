/** Cases of mirrord's own client with a target of each kind that needs no copy, in a fleet and in one cluster alone. */

import { afterEach, beforeAll, expect, it } from "vitest"
import { stringify } from "yaml"
import { images } from "../../lab/playground/manifests.ts"
import { at } from "../../src/domain/json.ts"
import { eventually } from "../support/eventually.ts"
import { until } from "../support/until.ts"
import { applyObjects } from "./cluster-writes.ts"
import { podDoors } from "./disturbances.ts"
import { fleetIs } from "./fleet-health.ts"
import { describeReal, request, runClient, type RunningCommand, type RealPlayground } from "./harness.ts"
import { singleUser } from "./single-user.ts"

const workloads = ["cluster-a", "cluster-b", "cluster-c"] as const

/** The targets, by the label `app` of their pods. */
const targets = {
  "kind-stateful-set": "statefulset/kind-stateful-set",
  "kind-replica-set": "replicaset/kind-replica-set",
  "kind-pod": "pod/kind-pod",
  "kind-rollout": "rollout/kind-rollout",
  myapp: "service/myapp"
} as const

/** Argo's definition without its schema. */
const rollouts = stringify({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "rollouts.argoproj.io" },
  spec: {
    group: "argoproj.io",
    scope: "Namespaced",
    names: { kind: "Rollout", plural: "rollouts", singular: "rollout", listKind: "RolloutList" },
    versions: [
      {
        name: "v1alpha1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } }
      }
    ]
  }
})

const metadataOf = (name: string) => ({ name, namespace: "default", labels: { app: name } })

/** The workloads of a cluster, as YAML. */
const manifests = (cluster: string) => {
  const env = Object.entries({ CLUSTER: cluster, PORT: "80", TCP_PORT: "7000" }).map(([name, value]) => ({
    name,
    value
  }))
  const podSpec = { containers: [{ name: "main", image: images.demo, env, ports: [{ containerPort: 80 }] }] }
  const spec = (name: string) => ({
    replicas: 1,
    selector: { matchLabels: { app: name } },
    template: { metadata: { labels: { app: name } }, spec: podSpec }
  })
  const apps = (kind: string, name: string, more: object = {}) => ({
    apiVersion: "apps/v1",
    kind,
    metadata: metadataOf(name),
    spec: { ...spec(name), ...more }
  })
  const rollout = { ...apps("Rollout", "kind-rollout"), apiVersion: "argoproj.io/v1alpha1" }
  const workloads = [
    apps("StatefulSet", "kind-stateful-set", { serviceName: "kind-stateful-set" }),
    apps("ReplicaSet", "kind-replica-set"),
    { apiVersion: "v1", kind: "Pod", metadata: metadataOf("kind-pod"), spec: podSpec },
    rollout
  ]
  return {
    workloads: workloads.map((object) => stringify(object)).join("---\n"),
    /** The ReplicaSet that Argo would make of the Rollout with this uid. */
    setOfRollout: (uid: unknown): string => {
      const owner = { apiVersion: rollout.apiVersion, kind: rollout.kind, name: "kind-rollout", controller: true, uid }
      const set = apps("ReplicaSet", "kind-rollout")
      return stringify({ ...set, metadata: { ...set.metadata, ownerReferences: [owner] } })
    }
  }
}

/** A suite after this one looks whether anything is left. */
export const targetKinds = (real: RealPlayground): void =>
  describeReal("targets of every kind", ["mirrord", "layerApp"], ({ layerApp, mirrord }) => {
    const running: Array<RunningCommand> = []
    let alone = ""
    beforeAll(async () => {
      await fleetIs(real.playground())
      for (const name of workloads) {
        const { cluster } = real.cluster(name)
        await applyObjects(cluster, rollouts)
        const { setOfRollout, workloads } = manifests(name)
        // An API server serves a new kind a moment later.
        const made = await eventually(`the workloads of ${name} are made`, () => applyObjects(cluster, workloads))
        const rollout = made.find(({ kind }) => kind === "Rollout")
        await applyObjects(cluster, setOfRollout(at(rollout, "metadata", "uid")))
        for (const app of Object.keys(targets))
          await until(`a ready pod of ${app} in ${name}`, () =>
            podDoors(real, name, 80, app).size > 0 ? true : undefined
          )
      }
      const { kubeconfig } = await singleUser(real, "cluster-b", "kim")
      alone = kubeconfig
    })
    afterEach(() => {
      for (const command of running.splice(0)) command.stop()
    })

    const cases = Object.entries(targets).flatMap(([app, target]) => [
      { target, app, seen: "a fleet", kubeconfig: () => real.kubeconfig(), clusters: workloads },
      {
        target,
        app,
        seen: "a cluster by itself",
        kubeconfig: () => alone,
        clusters: ["cluster-b"]
      }
    ])
    it.each(cases)(
      "$target of $seen has its variables, and is stolen from",
      async ({ app, clusters, kubeconfig, target }) => {
        const steal = ["--env", "CLUSTER", "--steal", "80:^x-user: kinds$", "--respond", "the laptop"]
        const args = ["exec", "--target", target, "--", layerApp, ...steal]
        const command = runClient({ file: mirrord, args, home: real.home("kinds"), kubeconfig: kubeconfig() })
        running.push(command)
        expect(await command.waitForEvent("env")).toMatchObject({ value: clusters[0] })
        expect(await command.waitForEvent("subscribed")).toMatchObject({ port: 80, ok: true })
        const ask = async (user: string, answer: RegExp): Promise<void> => {
          for (const cluster of clusters)
            for (const [pod, { ip, port }] of podDoors(real, cluster, 80, app))
              await eventually(`${pod} of ${cluster} answers ${user}`, async () =>
                expect(await request(`http://${ip}:${port}`, "/kind", { "x-user": user })).toMatch(answer)
              )
        }
        await ask("kinds", /^the laptop \/kind\n$/u)
        await ask("somebody else", /^hello from cluster-/u)
        command.stop()
        await ask("kinds", /^hello from cluster-/u)
      }
    )
  })
