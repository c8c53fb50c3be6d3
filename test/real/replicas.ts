/** Replicas of the primary's operator in a playground: who leads, what each called. */

import type { KubeObject } from "../../lab/cluster/schema/kube-object.ts"
import { pods } from "../../lab/cluster/store/resource-refs.ts"
import { processesWith } from "../../lab/playground/branches/home-processes.ts"
import type { AnyPlayground, LocalCluster } from "../../lab/playground/local-cluster.ts"
import { operatorNamespace } from "../../lab/playground/manifests.ts"
import { leaseName } from "../../src/app/leadership/elector.ts"
import { asObjects, asString, at } from "../../src/domain/json.ts"
import { labelledPods } from "../../src/domain/leadership/leader-label.ts"
import { shardLeases } from "../../src/domain/sharding/shard-leases.ts"
import { until } from "../support/until.ts"
import { type AnyRealPlayground } from "./harness.ts"

/** A replica: a pod, and the process of its container. */
export interface Replica {
  readonly name: string
  readonly uid: string
}

const leases = { group: "coordination.k8s.io", version: "v1", resource: "leases" }

const podsOf = ({ primary }: AnyPlayground, labelSelector: string): ReadonlyArray<KubeObject> =>
  primary.cluster.store.list(pods, { namespace: operatorNamespace, labelSelector }).items

const replica = ({ metadata }: KubeObject): Replica => ({ name: metadata.name ?? "", uid: metadata.uid ?? "" })

const isReady = (pod: KubeObject): boolean =>
  asObjects(at(pod, "status", "conditions")).some(({ status, type }) => type === "Ready" && status === "True")

/** Replicas that answer their probes. */
export const readyReplicas = (playground: AnyPlayground): ReadonlyArray<Replica> =>
  podsOf(playground, "app=mirrord-operator").filter(isReady).map(replica)

/** Replicas with the leader's label, alive or not; requests go to them. */
export const labelledReplicas = (playground: AnyPlayground): ReadonlyArray<Replica> =>
  podsOf(playground, labelledPods).map(replica)

/** The replica that a Lease names; `undefined` if it names none, or is not there. */
const holderOf = (lease: KubeObject | undefined): Replica | undefined => {
  const [name = "", uid = ""] = (asString(at(lease, "spec", "holderIdentity")) ?? "").split("_")
  return name === "" ? undefined : { name, uid }
}

/** The replica of the primary that leads. */
export const leaseHolder = (playground: AnyPlayground): Replica | undefined =>
  holderOf(playground.primary.cluster.store.get(leases, operatorNamespace, leaseName))

/** The replica that forwards the messages of the cluster's split queue; `undefined` while none has its Lease. */
export const queueOwner = ({ store }: LocalCluster): Replica | undefined =>
  holderOf(store.list(leases, { labelSelector: `${shardLeases}=queue` }).items[0])

/** Waits until a replica other than these has the Lease, and it alone the label. */
export const leaderBeside = ({ playground }: AnyRealPlayground, former: ReadonlyArray<Replica>): Promise<Replica> =>
  until("a leader that alone has the label", () => {
    const leader = leaseHolder(playground())
    const labelled = labelledReplicas(playground())
    const isNew = leader !== undefined && former.every(({ uid }) => uid !== leader.uid)
    return isNew && labelled.length === 1 && labelled[0]?.uid === leader.uid ? leader : undefined
  })

/** The process of a replica; it changes when the container is restarted. */
export const processOf = ({ name, uid }: Replica): number => {
  const [pid, ...others] = processesWith("OPERATOR_POD_UID", uid)
  if (pid === undefined || others.length > 0)
    throw new Error(`pod ${name} has ${others.length + (pid === undefined ? 0 : 1)} processes`)
  return pid
}

export const logOf = async ({ primary }: AnyPlayground, { name }: Replica): Promise<ReadonlyArray<string>> => {
  const logs = primary.kubelet?.podLogs(operatorNamespace, name, undefined)
  const lines: Array<string> = []
  if (logs?._tag === "Lines") for await (const line of logs.lines) lines.push(line)
  return lines
}

/** A request that an API server has answered. */
export interface ReplicaCall {
  readonly cluster: string
  readonly method: string
  readonly path: string
  readonly status: number
}

/** Calls of a replica to any cluster since a time (epoch ms), oldest first. */
export const callsOf = ({ clusters }: AnyPlayground, { name }: Replica, since: number): ReadonlyArray<ReplicaCall> =>
  clusters.flatMap(({ cluster, description }) =>
    cluster
      .callers()
      .filter(({ at: when, userAgent }) => when >= since && userAgent.endsWith(`(pod ${name})`))
      .map(({ method, path, status }) => ({ cluster: description.name, method, path, status }))
  )

/** Whether a call is about the Lease, which every replica may read and try. */
export const isOfLease = ({ path }: ReplicaCall): boolean => path.endsWith(`/leases/${leaseName}`)

/** Whether a call changed something: a write that was accepted, or a connection that was opened. */
export const isAct = ({ method, status }: ReplicaCall): boolean => (method === "GET" ? status === 101 : status < 300)
