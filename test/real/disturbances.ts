/** Disturbances of embedded clusters, for tests with mirrord's own client: operators restart, API servers go. */

import { Effect } from "effect"
import type { ObjectStore } from "../../lab/cluster/store/object-store.ts"
import { deployments, pods } from "../../lab/cluster/store/resource-refs.ts"
import { operatorNamespace, workloadNamespace } from "../../lab/playground/manifests.ts"
import { asObject, asObjects, at, asString } from "../../src/domain/json.ts"
import { fleetIs } from "./fleet-health.ts"
import { type RealPlayground, until } from "./harness.ts"

const operatorPods = (store: ObjectStore): ReadonlyArray<string> =>
  store
    .list(pods, { namespace: operatorNamespace, labelSelector: "app=mirrord-operator" })
    .items.map(({ metadata }) => metadata.uid ?? "")

/** Ends a cluster's operator, as an update or `kubectl rollout restart` does, and waits for the next one's pod. */
export const restartOperator = async (real: RealPlayground, cluster: string): Promise<void> => {
  const { store } = real.cluster(cluster).cluster
  const before = operatorPods(store)
  for (const { metadata } of store.list(pods, { namespace: operatorNamespace, labelSelector: "app=mirrord-operator" })
    .items)
    store.delete(pods, operatorNamespace, metadata.name ?? "")
  await until(`the next operator of ${cluster}`, () => operatorPods(store).find((uid) => !before.includes(uid)))
}

/** Cuts a cluster's API server off, with all connections through it, until the act is over. */
export const whileCut = async <A>(real: RealPlayground, cluster: string, act: () => Promise<A>): Promise<A> => {
  const { cluster: server } = real.cluster(cluster)
  await Effect.runPromise(server.stop())
  try {
    return await act()
  } finally {
    await Effect.runPromise(server.restart())
  }
}

/** {@link whileCut}, and the primary notices both. */
export const whileNoticedCut = async <A>(real: RealPlayground, cluster: string, act: () => Promise<A>): Promise<A> => {
  const result = await whileCut(real, cluster, async () => {
    await fleetIs(real.playground(), [cluster])
    return await act()
  })
  await fleetIs(real.playground())
  return result
}

/** Where connections to a port of each ready pod of the workload enter, past its Service, by the pod's name. */
export const podDoors = (
  real: RealPlayground,
  cluster: string,
  port: number
): ReadonlyMap<string, { readonly ip: string; readonly port: number }> => {
  const { cluster: server, kubelet } = real.cluster(cluster)
  return new Map(
    server.store.list(pods, { namespace: workloadNamespace, labelSelector: "app=myapp" }).items.flatMap((pod) => {
      const isReady = asObjects(at(pod, "status", "containerStatuses")).some(({ ready }) => ready === true)
      const ip = asString(at(pod, "status", "podIP"))
      if (!isReady || ip === undefined || pod.metadata.deletionTimestamp !== undefined) return []
      return [[pod.metadata.name ?? "", kubelet.reach({ ip, port })] as const]
    })
  )
}

/** Where requests enter each ready pod of the workload. */
export const podEntries = (real: RealPlayground, cluster: string): ReadonlyArray<string> =>
  Array.from(podDoors(real, cluster, 80).values(), ({ ip, port }) => `http://${ip}:${port}`)

const podNames = (real: RealPlayground, cluster: string): ReadonlyArray<string> => [
  ...podDoors(real, cluster, 80).keys()
]

/** Scales the workload of a cluster, and waits until it has so many ready pods. */
export const scaleWorkload = async (real: RealPlayground, cluster: string, replicas: number): Promise<void> => {
  real.cluster(cluster).cluster.store.modify(deployments, workloadNamespace, "myapp", (draft) => {
    draft["spec"] = { ...asObject(draft["spec"]), replicas }
  })
  await until(`${replicas} ready pods in ${cluster}`, () =>
    podNames(real, cluster).length === replicas ? true : undefined
  )
}

/** Rolls the workload of a cluster out, as `kubectl rollout restart` does, and waits until only new pods are left. */
export const rollOut = async (real: RealPlayground, cluster: string): Promise<void> => {
  const { store } = real.cluster(cluster).cluster
  const before = podNames(real, cluster)
  store.modify(deployments, workloadNamespace, "myapp", (draft) => {
    const spec = asObject(draft["spec"])
    const template = asObject(spec["template"])
    const metadata = { ...asObject(template["metadata"]), annotations: { restarted: `after ${before.join(", ")}` } }
    draft["spec"] = { ...spec, template: { ...template, metadata } }
  })
  await until(`new pods in ${cluster}`, () => {
    const now = podNames(real, cluster)
    return now.length > 0 && now.every((name) => !before.includes(name)) ? true : undefined
  })
}

/** Deletes the workload of a cluster, as `kubectl delete deployment` does. */
export const deleteWorkload = (real: RealPlayground, cluster: string): void =>
  void real.cluster(cluster).cluster.store.delete(deployments, workloadNamespace, "myapp")
