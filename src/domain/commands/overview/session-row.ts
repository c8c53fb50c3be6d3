/**
 * The content of `braid sessions`: one row for each session, from its own object or from the operator's object.
 *
 * Not here: reading the objects, and the layout of a table (text-table.ts).
 */

import { spanText } from "../../fleet/credentials/validity.ts"
import { complaintOf, findCondition } from "../../resources/condition.ts"
import { type MirrordClusterSession, readyCondition } from "../../resources/mirrord-cluster-session.ts"
import type { MirrordMultiClusterSession } from "../../resources/mirrord-multi-cluster-session.ts"
import type { MultiClusterSessionInfo } from "../../resources/mirrord-operator.ts"
import { timeOf } from "../../resources/object-meta.ts"
import type { KubeResourceTarget, SessionOwner } from "../../resources/session-shapes.ts"
import type { SessionInfo } from "../../resources/session.ts"
import { fromKubeTarget } from "../../targets/kube-target.ts"
import { formatTargetPath } from "../../targets/target-path.ts"

/** One cluster's part of a session. */
export interface SessionCluster {
  readonly name: string
  /** Undefined if the user may not know it. */
  readonly ready: boolean | undefined
  /** Why the cluster is left out, or is not ready yet. */
  readonly reason: string | undefined
}

/** A session as `braid sessions` shows it; docs/operating/commands.md describes its JSON. */
export interface SessionRow {
  readonly name: string
  readonly kind: "MirrordMultiClusterSession" | "MirrordClusterSession"
  readonly phase: string
  readonly namespace: string
  /** `deployment/web/container/app`, or `targetless`. */
  readonly target: string
  /** Name of the user on their machine, and in the cluster if that differs. */
  readonly user: string
  /** Empty for a session of this cluster alone. */
  readonly clusters: ReadonlyArray<SessionCluster>
  /** Name of the parent, for a child. */
  readonly parent: string | undefined
  /** Epoch ms. */
  readonly createdAt: number | undefined
  /** Why the session is not ready, or why it ended; one sentence. */
  readonly reason: string | undefined
}

const userText = ({ k8sUsername, username }: SessionOwner): string =>
  username === k8sUsername ? username : `${username} (${k8sUsername})`

const targetText = (target: KubeResourceTarget | null | undefined, otherwise: string): string => {
  const known = fromKubeTarget(target)
  return known === undefined ? otherwise : formatTargetPath(known)
}

const isDeleted = (time: string | null | undefined): boolean => (time ?? undefined) !== undefined

/** The clusters that take no part, each with its reason, as one sentence; `undefined` if all do. */
const leftOutText = (clusters: ReadonlyArray<SessionCluster>): string | undefined => {
  const leftOut = clusters.flatMap(({ name, reason }) => (reason === undefined ? [] : [`${name}: ${reason}`]))
  return leftOut.length === 0 ? undefined : leftOut.join("; ")
}

/** A session over many clusters, from its own object. */
export const parentRow = ({ metadata, spec, status }: MirrordMultiClusterSession): SessionRow => {
  const known = status?.clusterSessions ?? {}
  const clusters = [...new Set([...spec.clusters, ...Object.keys(known)])]
    .toSorted()
    .map((name) => ({ name, ready: known[name]?.ready ?? false, reason: known[name]?.error }))
  return {
    name: metadata.name,
    kind: "MirrordMultiClusterSession",
    phase: isDeleted(metadata.deletionTimestamp) ? "Terminating" : (status?.phase ?? "Initializing"),
    namespace: spec.namespace,
    target: targetText(spec.target, spec.targetAlias),
    user: userText(spec.owner),
    clusters,
    parent: undefined,
    createdAt: timeOf(metadata.creationTimestamp),
    reason: status?.closed ?? complaintOf(status?.conditions, readyCondition) ?? leftOutText(clusters)
  }
}

const childPhase = ({ metadata, status }: MirrordClusterSession): string => {
  if (isDeleted(metadata.deletionTimestamp)) return "Terminating"
  if ((status?.closed ?? undefined) !== undefined) return "Closed"
  const ready = findCondition(status?.conditions ?? undefined, readyCondition)
  return ready?.status === "True" ? "Ready" : "Pending"
}

/** A session in one cluster: a session of its own, or the child of a parent. */
export const childRow = (session: MirrordClusterSession): SessionRow => {
  const { metadata, spec, status } = session
  const closed = status?.closed ?? undefined
  return {
    name: metadata.name,
    kind: "MirrordClusterSession",
    phase: childPhase(session),
    namespace: spec.namespace,
    target: targetText(spec.target, "unknown"),
    user: userText(spec.owner),
    clusters: [],
    parent: spec.multiClusterParentName ?? undefined,
    createdAt: timeOf(metadata.creationTimestamp),
    reason: closed === undefined ? complaintOf(status?.conditions, readyCondition) : (closed.message ?? closed.reason)
  }
}

/**
 * A session over many clusters, from the operator's object. An earlier operator reports no states of clusters and no
 * reason there.
 */
export const publishedParentRow = (info: MultiClusterSessionInfo, now: number): SessionRow => {
  const known = info.clusterSessions ?? {}
  const clusters = [...new Set([...info.clusters, ...Object.keys(known)])]
    .toSorted()
    .map((name) => ({ name, ready: known[name]?.ready, reason: known[name]?.error ?? undefined }))
  return {
    name: info.id,
    kind: "MirrordMultiClusterSession",
    // For people, the clusters that take no part stand behind it.
    phase: info.phase.split(",", 1)[0] ?? "",
    namespace: info.namespace,
    target: info.target,
    user: info.user,
    clusters,
    parent: undefined,
    createdAt: now - info.durationSecs * 1000,
    reason: info.reason ?? leftOutText(clusters)
  }
}

/** A session in one cluster, from the operator's object, which has no phase either. */
export const publishedChildRow = (info: SessionInfo, now: number): SessionRow => ({
  name: (info.id ?? "").toLowerCase().padStart(16, "0"),
  kind: "MirrordClusterSession",
  phase: "Unknown",
  namespace: info.namespace ?? "",
  target: info.target,
  user: info.user,
  clusters: [],
  parent: undefined,
  createdAt: now - info.duration_secs * 1000,
  reason: undefined
})

/** All rows, oldest first. A child has no row beside its parent: the parent's row says how it is. */
export const sessionRows = (
  parents: ReadonlyArray<SessionRow>,
  children: ReadonlyArray<SessionRow>
): ReadonlyArray<SessionRow> => {
  const names = new Set(parents.map(({ name }) => name))
  const others = children.filter(({ parent }) => parent === undefined || !names.has(parent))
  return [...parents, ...others].toSorted(
    (a, b) => (a.createdAt ?? 0) - (b.createdAt ?? 0) || (a.name < b.name ? -1 : 1)
  )
}

export const sessionHeader = ["NAME", "PHASE", "NAMESPACE", "TARGET", "USER", "CLUSTERS", "AGE", "REASON"] as const

const clustersText = (clusters: ReadonlyArray<SessionCluster>): string => {
  if (clusters.length === 0) return ""
  const ready = clusters.filter((cluster) => cluster.ready === true).length
  return clusters.some((cluster) => cluster.ready === undefined)
    ? `?/${clusters.length}`
    : `${ready}/${clusters.length}`
}

/** A row as cells, in the order of {@link sessionHeader}. */
export const sessionCells = (
  { clusters, createdAt, name, namespace, phase, reason, target, user }: SessionRow,
  now: number
): ReadonlyArray<string> => [
  name,
  phase,
  namespace,
  target,
  user,
  clustersText(clusters),
  createdAt === undefined ? "" : spanText(now - createdAt),
  reason ?? ""
]
