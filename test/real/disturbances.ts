/**
 * Disturbances of embedded and of real clusters, for tests with mirrord's own client: operators restart, API servers
 * go.
 */

import { Effect } from "effect"
import type { ObjectReader } from "../../lab/cluster/store/object-reader.ts"
import { deployments, pods } from "../../lab/cluster/store/resource-refs.ts"
import { processesWith } from "../../lab/playground/branches/home-processes.ts"
import { operatorNamespace, workloadNamespace } from "../../lab/playground/manifests.ts"
import { asObjects, at, asString } from "../../src/domain/json.ts"
import { until } from "../support/until.ts"
import { deleteObject, patchObject } from "./cluster-writes.ts"
import { fleetIs } from "./fleet-health.ts"
import { type AnyRealPlayground } from "./harness.ts"
import { processOf } from "./replicas.ts"

/** The names of a cluster's operator pods, by UID. */
export const operatorPods = (store: ObjectReader): ReadonlyMap<string, string> =>
  new Map(
    store
      .list(pods, { namespace: operatorNamespace, labelSelector: "app=mirrord-operator" })
      .items.map(({ metadata }) => [metadata.uid ?? "", metadata.name ?? ""] as const)
  )

/** Ends a cluster's operator, as an update or `kubectl rollout restart` does, and waits for the next one's pod. */
export const restartOperator = async (real: AnyRealPlayground, cluster: string): Promise<void> => {
  const { cluster: server } = real.cluster(cluster)
  const before = operatorPods(server.store)
  for (const name of before.values()) await deleteObject(server, pods, operatorNamespace, name)
  await until(`the next operator of ${cluster}`, () =>
    [...operatorPods(server.store).keys()].find((uid) => !before.has(uid))
  )
}

/** Cuts a cluster's API server off, with all connections through it, until the act is over. */
export const whileCut = async <A>(real: AnyRealPlayground, cluster: string, act: () => Promise<A>): Promise<A> => {
  const { cluster: server } = real.cluster(cluster)
  await Effect.runPromise(server.stop())
  try {
    return await act()
  } finally {
    await real.restart(cluster)
  }
}

/** Kills the process of a cluster's operator, as the kernel does without memory, and acts while the next one starts. */
export const whileKilled = async <A>(real: AnyRealPlayground, cluster: string, act: () => Promise<A>): Promise<A> => {
  const [uid = "", name = ""] = [...operatorPods(real.cluster(cluster).cluster.store)][0] ?? []
  const killed = processOf({ name, uid })
  process.kill(killed, "SIGKILL")
  const result = await act()
  await until(`the next process of ${name}`, () =>
    processesWith("OPERATOR_POD_UID", uid).some((pid) => pid !== killed) ? true : undefined
  )
  return result
}

/** {@link whileCut}, and the primary notices both. */
export const whileNoticedCut = async <A>(
  real: AnyRealPlayground,
  cluster: string,
  act: () => Promise<A>
): Promise<A> => {
  const result = await whileCut(real, cluster, async () => {
    await fleetIs(real.playground(), [cluster])
    return await act()
  })
  await fleetIs(real.playground())
  return result
}

/** Where connections to a port of each ready pod of a workload enter, past its Service, by the pod's name. */
export const podDoors = (
  real: AnyRealPlayground,
  cluster: string,
  port: number,
  app = "myapp"
): ReadonlyMap<string, { readonly ip: string; readonly port: number }> => {
  const { cluster: server, kubelet } = real.cluster(cluster)
  return new Map(
    server.store.list(pods, { namespace: workloadNamespace, labelSelector: `app=${app}` }).items.flatMap((pod) => {
      const isReady = asObjects(at(pod, "status", "containerStatuses")).some(({ ready }) => ready === true)
      const ip = asString(at(pod, "status", "podIP"))
      if (!isReady || ip === undefined || pod.metadata.deletionTimestamp !== undefined) return []
      return [[pod.metadata.name ?? "", kubelet.reach({ ip, port })] as const]
    })
  )
}

/** Where requests enter each ready pod of the workload. */
export const podEntries = (real: AnyRealPlayground, cluster: string): ReadonlyArray<string> =>
  Array.from(podDoors(real, cluster, 80).values(), ({ ip, port }) => `http://${ip}:${port}`)

const podNames = (real: AnyRealPlayground, cluster: string): ReadonlyArray<string> => [
  ...podDoors(real, cluster, 80).keys()
]

/** Scales the workload of a cluster, and waits until it has so many ready pods. */
export const scaleWorkload = async (real: AnyRealPlayground, cluster: string, replicas: number): Promise<void> => {
  await patchObject(real.cluster(cluster).cluster, deployments, workloadNamespace, "myapp", { spec: { replicas } })
  await until(`${replicas} ready pods in ${cluster}`, () =>
    podNames(real, cluster).length === replicas ? true : undefined
  )
}

/** Rolls the workload of a cluster out, as `kubectl rollout restart` does, and waits until only new pods are left. */
export const rollOut = async (real: AnyRealPlayground, cluster: string): Promise<void> => {
  const before = podNames(real, cluster)
  const annotations = { restarted: `after ${before.join(", ")}` }
  await patchObject(real.cluster(cluster).cluster, deployments, workloadNamespace, "myapp", {
    spec: { template: { metadata: { annotations } } }
  })
  await until(`new pods in ${cluster}`, () => {
    const now = podNames(real, cluster)
    return now.length > 0 && now.every((name) => !before.includes(name)) ? true : undefined
  })
}

/** Deletes the workload of a cluster, as `kubectl delete deployment` does. */
export const deleteWorkload = (real: AnyRealPlayground, cluster: string): Promise<unknown> =>
  deleteObject(real.cluster(cluster).cluster, deployments, workloadNamespace, "myapp")
