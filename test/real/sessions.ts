/** Sessions and their leftovers in a playground, read from the clusters' stores. */

import { Result } from "effect"
import type { KubeObject, ResourceRef } from "../../lab/cluster/store/object-store.ts"
import type { AnyPlayground, AnyRunningCluster } from "../../lab/playground/local-cluster.ts"
import { operatorNamespace } from "../../lab/playground/manifests.ts"
import {
  mirrordClusterSessions,
  type MirrordClusterSession,
  readyCondition
} from "../../src/domain/resources/mirrord-cluster-session.ts"
import {
  mirrordMultiClusterSessions,
  type MirrordMultiClusterSession,
  type SessionPhase
} from "../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { readResource, type ResourceDescriptor } from "../../src/domain/resources/resource-descriptor.ts"
import { childAnnotations } from "../../src/domain/sessions/names.ts"
import { until } from "../support/until.ts"
import { patchObject } from "./cluster-writes.ts"
import { clientUser } from "./harness.ts"

const ref = ({ group, plural, version }: ResourceDescriptor<unknown>): ResourceRef => ({
  group,
  version,
  resource: plural
})
const pods: ResourceRef = { group: "", version: "v1", resource: "pods" }
const jobs: ResourceRef = { group: "batch", version: "v1", resource: "jobs" }

const read = <T>({ cluster }: AnyRunningCluster, descriptor: ResourceDescriptor<T>): ReadonlyArray<T> =>
  cluster.store.list(ref(descriptor)).items.flatMap((item) => {
    const result = readResource(descriptor, item)
    return Result.isSuccess(result) ? [result.success] : []
  })

export const parents = ({ primary }: AnyPlayground): ReadonlyArray<MirrordMultiClusterSession> =>
  read(primary, mirrordMultiClusterSessions)
export const children = (cluster: AnyRunningCluster): ReadonlyArray<MirrordClusterSession> =>
  read(cluster, mirrordClusterSessions)
export const workloadClusters = ({ clusters }: AnyPlayground): ReadonlyArray<AnyRunningCluster> =>
  clusters.filter(({ description }) => description.hasWorkload)

const isReady = (child: MirrordClusterSession): boolean =>
  child.status?.conditions?.some(({ status, type }) => type === readyCondition && status === "True") === true

/** That of embedded clusters, of real control planes or of real nodes. */
export interface Played {
  readonly playground: () => AnyPlayground
}

export const parentNames = (playground: AnyPlayground): ReadonlySet<string> =>
  new Set(parents(playground).map(({ metadata }) => metadata.name))

/**
 * The first parent that is not among the known ones, once it is in the given phase. The session of a command that ends
 * is looked for beside the command: soon after it the session is gone.
 */
export const newParent = ({ playground }: Played, known: ReadonlySet<string>, phase: SessionPhase) =>
  until(`a new parent session that is ${phase}`, () =>
    parents(playground()).find(({ metadata, status }) => !known.has(metadata.name) && status?.phase === phase)
  )

/** Waits until a new session is Ready with a ready child in every workload cluster; the result is the parent. */
export const readySession = async (real: Played, known: ReadonlySet<string>): Promise<MirrordMultiClusterSession> => {
  const { metadata } = await newParent(real, known, "Ready")
  for (const cluster of workloadClusters(real.playground())) {
    const { name } = cluster.description
    await until(`a ready child of ${metadata.name} in ${name}`, () =>
      children(cluster).find((child) => child.spec.multiClusterParentName === metadata.name && isReady(child))
    )
    await until(`${metadata.name} says that ${name} is ready`, () => {
      const parent = parents(real.playground()).find((candidate) => candidate.metadata.name === metadata.name)
      return parent?.status?.clusterSessions?.[name]?.ready === true ? parent : undefined
    })
  }
  return await newParent(real, known, "Ready")
}

const ownedByOperator = (object: KubeObject): boolean => object.metadata.name?.startsWith("mirrord-agent") === true

/** Jobs of agents, and the agents' pods. */
export const agents = ({ cluster: { store } }: AnyRunningCluster): ReadonlyArray<KubeObject> => [
  ...store.list(jobs, { namespace: operatorNamespace }).items,
  ...store.list(pods, { namespace: operatorNamespace }).items.filter(ownedByOperator)
]

/**
 * All objects of sessions that still exist, except for `Failed` parents, which stay for a while so that `kubectl` can
 * show why.
 */
const leftovers = (playground: AnyPlayground): ReadonlyArray<string> => [
  ...parents(playground)
    .filter(({ status }) => status?.phase !== "Failed")
    .map(({ metadata }) => `parent ${metadata.name}`),
  ...playground.clusters.flatMap((running) => {
    return [
      ...children(running).map(({ metadata }) => `child ${metadata.name}`),
      ...agents(running).map(({ metadata }) => `agent ${metadata.name ?? ""}`)
    ].map((text) => `${running.description.name}: ${text}`)
  })
]

/** The last lines of the primary's operators, for failures that only they can explain. */
const operatorLog = async ({ primary }: AnyPlayground): Promise<string> => {
  const lines: Array<string> = []
  for (const { container, namespace, pod } of primary.kubelet?.containers() ?? []) {
    const logs =
      container === "mirrord-operator"
        ? primary.kubelet?.podLogs(namespace, pod, undefined, { tailLines: 60 })
        : undefined
    if (logs?._tag === "Lines") for await (const line of logs.lines) lines.push(`${pod}: ${line}`)
  }
  const restarts = primary.cluster.store
    .list(pods, { namespace: operatorNamespace })
    .items.map(({ metadata, status }) => `${metadata.name}: ${JSON.stringify(status)}`)
  return [...restarts, ...lines].join("\n")
}

/**
 * Lets the sessions of one cluster end soon after their client has left: by the annotation in which the sessions of a
 * primary have the TTL of its configuration. Without it they stay for a minute.
 */
export const endSoon = async (running: AnyRunningCluster): Promise<void> => {
  const annotations = { [childAnnotations.sessionTtlSecs]: "1" }
  for (const { metadata, spec } of children(running))
    if ((spec.multiClusterParentName ?? undefined) === undefined)
      await patchObject(running.cluster, ref(mirrordClusterSessions), "", metadata.name, { metadata: { annotations } })
}

/**
 * Waits until the sessions of clients that have left are gone with all they made. Heartbeats go on for 15 s after the
 * last socket, then the TTL runs.
 */
export const nothingLeft = async ({ playground }: Played): Promise<void> => {
  for (const cluster of playground().clusters) await endSoon(cluster)
  try {
    await until("no session, agent Job or agent pod", () => (leftovers(playground()).length === 0 ? true : undefined))
  } catch (error) {
    const statuses = parents(playground()).map(({ metadata, status }) => `${metadata.name}: ${JSON.stringify(status)}`)
    const log = await operatorLog(playground())
    // Last, because the log is long and a reader sees the end.
    const left = `still there: ${leftovers(playground()).join(", ")}`
    throw new Error([...statuses, log, left].join("\n"), { cause: error })
  }
}

/** Requests of the client's user at API servers other than the primary's. */
export const strayRequests = ({ clusters, primary }: AnyPlayground): ReadonlyArray<string> =>
  clusters
    .filter((cluster) => cluster !== primary)
    .flatMap(({ cluster, description }) =>
      cluster
        .callers()
        .filter(({ user }) => user === clientUser)
        .map(({ method, path }) => `${description.name}: ${method} ${path}`)
    )
