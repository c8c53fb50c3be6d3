/** Gives the operators of a playground exactly the rights that the chart gives, in place of the playground's own. */

import { KubeConfig } from "@kubernetes/client-node"
import { Effect } from "effect"
import { stringify } from "yaml"
import type { RunningCluster } from "../../lab/playground/local-cluster.ts"
import { makeKubeApi } from "../../src/adapters/kubernetes/kube-api-http.ts"
import { userAuthoritySecret } from "../../src/app/certificates/user-authority.ts"
import { mirrordOperators } from "../../src/domain/resources/mirrord-operator.ts"
import { untilTrue } from "../support/until-true.ts"
import type { Chart, KubernetesObject } from "./chart.ts"
import { at } from "./json.ts"

const namespace = "mirrord"
const pods = { group: "", version: "v1", resource: "pods" }
const rbac = (resource: string) => ({ group: "rbac.authorization.k8s.io", version: "v1", resource })
const kinds = new Set(["ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"])

/** The roles and bindings of an install with these values. */
export const rightsOf = async (chart: Chart, values: object): Promise<ReadonlyArray<KubernetesObject>> =>
  (await chart.render({ values })).objects.filter(({ kind }) => typeof kind === "string" && kinds.has(kind))

const operatorPods = ({ cluster }: RunningCluster) =>
  cluster.store
    .list(pods, { namespace })
    .items.filter(({ metadata }) => metadata.labels?.["app"] === "mirrord-operator")

const isReady = (pod: unknown): boolean => {
  const conditions = at(pod, "status", "conditions")
  return (
    Array.isArray(conditions) &&
    conditions.some((condition) => at(condition, "type") === "Ready" && at(condition, "status") === "True")
  )
}

/** Takes all rights that the playground gave, gives those of the chart, and starts the operator again with them. */
export const giveRights = (running: RunningCluster, rights: ReadonlyArray<KubernetesObject>) =>
  Effect.gen(function* () {
    const { store } = running.cluster
    for (const [resource, place] of [
      ["clusterrolebindings", undefined],
      ["clusterroles", undefined],
      ["rolebindings", namespace],
      ["roles", namespace],
      ["rolebindings", "default"],
      ["roles", "default"],
      ["rolebindings", "kube-system"],
      ["roles", "kube-system"]
    ] as const) {
      for (const { metadata } of store.list(rbac(resource), place === undefined ? {} : { namespace: place }).items) {
        if (metadata.name?.startsWith("mirrord-operator") === true) store.delete(rbac(resource), place, metadata.name)
      }
    }
    running.cluster.apply(rights.map((object) => stringify(object)).join("---\n"))
    // It has to be made again as well.
    store.delete({ group: "", version: "v1", resource: "secrets" }, namespace, userAuthoritySecret)
    const old = new Set(operatorPods(running).map(({ metadata }) => metadata.uid))
    for (const { metadata } of operatorPods(running)) store.delete(pods, namespace, metadata.name ?? "")
    const isNew = () =>
      operatorPods(running).some((pod) => !old.has(pod.metadata.uid) && isReady(pod)) &&
      operatorPods(running).every(({ metadata }) => !old.has(metadata.uid))
    const operators = `operators of ${running.description.name} with the chart's rights`
    yield* Effect.promise(() => untilTrue(operators, isNew))
    // The API server may not know the new operators' pods at once, and answers 503 until then.
    const config = new KubeConfig()
    config.loadFromFile(running.cluster.kubeconfigPath)
    const api = yield* makeKubeApi(config, running.description.name)
    const answer = () => Effect.runPromise(Effect.isSuccess(api.get(mirrordOperators, "operator")))
    yield* Effect.promise(() => untilTrue(`the API of ${operators}`, answer))
  }).pipe(Effect.scoped)
