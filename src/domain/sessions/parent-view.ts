/**
 * Reads a parent: the fields that the plan needs, and the parts of its status that a client and other replicas need.
 *
 * Not here: any decision.
 */

import { sentence } from "../clean-text.ts"
import { clusterName, type ClusterName } from "../fleet/cluster-name.ts"
import { findCondition, type Condition } from "../resources/condition.ts"
import type {
  ClusterSessionStatus,
  MirrordMultiClusterSession,
  SessionPhase
} from "../resources/mirrord-multi-cluster-session.ts"
import { isBeingDeleted, timeOf, type Precondition, preconditionOf } from "../resources/object-meta.ts"
import { isFailureReason, type SessionFailure } from "../resources/session-failure.ts"
import { splitAnnotations } from "./names.ts"
import type { ObservedSession } from "./observed-session.ts"

/**
 * Types of the conditions on a parent. Decisions take their times from `lastTransitionTime`, so that any replica can
 * continue.
 */
export const parentConditions = {
  /** The default cluster's part is usable. */
  defaultReady: "DefaultReady",
  /** The default cluster has made queues for the session, which its program reads. */
  queuesMade: "QueuesMade",
  /** A client may be connected. */
  ready: "Ready",
  /** The session failed; reason and message say why. */
  failed: "Failed"
} as const

/** The fields of a parent that the plan reads. Times are epoch ms. */
export interface ParentView {
  readonly name: string
  readonly uid: string
  readonly generation: number | undefined
  /** The generation that the status was written for. */
  readonly observedGeneration: number | undefined
  readonly createdAt: number
  readonly deletedAt: number | undefined
  readonly finalizers: ReadonlyArray<string>
  readonly clusters: ReadonlyArray<ClusterName>
  readonly defaultCluster: ClusterName | undefined
  readonly phase: SessionPhase | undefined
  /** In the order of the spec's clusters; clusters that only the status names come last. */
  readonly recorded: ReadonlyMap<ClusterName, ClusterSessionStatus>
  /** How many clusters were ready, as the status says it. */
  readonly readyClusters: string | undefined
  readonly conditions: ReadonlyArray<Condition>
  readonly connectedAt: number | undefined
  readonly closed: string | undefined
  /** The split of queues that the session asks for, as a text; `undefined` if it asks for none. */
  readonly splitWish: string | undefined
  readonly precondition: Precondition
}

/** The entry of each cluster in a parent's status, in the order of {@link ParentView.recorded}. */
const recordedOf = (
  { status }: MirrordMultiClusterSession,
  clusters: ReadonlyArray<ClusterName>
): ParentView["recorded"] => {
  const sessions = new Map(
    Object.entries(status?.clusterSessions ?? {}).map(([name, entry]) => [clusterName(name), entry])
  )
  const ordered = [
    ...clusters.filter((name) => sessions.has(name)),
    ...[...sessions.keys()].filter((name) => !clusters.includes(name))
  ]
  return new Map(
    ordered.flatMap((name): ReadonlyArray<readonly [ClusterName, ClusterSessionStatus]> => {
      const entry = sessions.get(name)
      return entry === undefined ? [] : [[name, entry]]
    })
  )
}

/** Reads a parent. Its creation and deletion are timed by this process's own clock. */
export const parentView = (
  parent: MirrordMultiClusterSession,
  { createdSeenAt, deletedSeenAt, fleet }: Pick<ObservedSession, "createdSeenAt" | "deletedSeenAt" | "fleet">
): ParentView => {
  const { metadata, spec, status } = parent
  const clusters = [...new Set(spec.clusters)].map(clusterName)
  return {
    name: metadata.name,
    uid: metadata.uid ?? "",
    generation: metadata.generation,
    observedGeneration: status?.observedGeneration,
    createdAt: createdSeenAt,
    deletedAt: isBeingDeleted(metadata) ? (deletedSeenAt ?? createdSeenAt) : undefined,
    finalizers: metadata.finalizers ?? [],
    clusters,
    defaultCluster: spec.defaultCluster === undefined ? fleet.defaultCluster : clusterName(spec.defaultCluster),
    phase: status?.phase,
    recorded: recordedOf(parent, clusters),
    readyClusters: status?.readyClusters,
    conditions: status?.conditions ?? [],
    connectedAt: timeOf(status?.connectedTimestamp),
    closed: status?.closed,
    splitWish: metadata.annotations?.[splitAnnotations.wish],
    precondition: preconditionOf(metadata)
  }
}

/** Since when a condition has a status, epoch ms; `undefined` if its status is another. */
export const conditionSince = (
  conditions: ReadonlyArray<Condition> | undefined,
  type: string,
  status: "True" | "False"
): number | undefined => {
  const condition = findCondition(conditions, type)
  return condition?.status === status ? timeOf(condition.lastTransitionTime) : undefined
}

/** Why a parent failed, as its status says, for whichever replica answers the client. */
export const recordedFailure = (parent: MirrordMultiClusterSession): SessionFailure | undefined => {
  if (parent.status?.phase !== "Failed") return undefined
  const condition = findCondition(parent.status.conditions, parentConditions.failed)
  if (condition === undefined) return { reason: "Error", message: parent.status.closed ?? "The session failed." }
  return { reason: isFailureReason(condition.reason) ? condition.reason : "Error", message: condition.message }
}

const leftOut = (cluster: string, reason: string): string =>
  `mirrord multi-cluster: cluster ${cluster} takes no part in this session for now: ${reason}`

/** The clusters that a session goes without, as far as its parent does not say it. */
export interface LeftOutDetails {
  /** By cluster, reasons that say more than the parent's, such as why it has no copy of the target. */
  readonly reasons?: ReadonlyMap<string, string> | undefined
  /** A sentence about queues that such a cluster does not split; `undefined` if the session splits none. */
  readonly unsplit: string | undefined
}

/** The warning for a cluster that a Ready session goes without; `undefined` if it has the cluster or waits for it. */
export const leftOutWarning = (
  { status }: MirrordMultiClusterSession,
  cluster: string,
  { reasons, unsplit }: LeftOutDetails
): string | undefined => {
  const { error, ready } = status?.clusterSessions?.[cluster] ?? {}
  const reason = reasons?.get(cluster) ?? error
  if (status?.phase !== "Ready" || ready !== false || reason === undefined) return undefined
  const isSplit = conditionSince(status.conditions, parentConditions.queuesMade, "True") !== undefined
  return leftOut(cluster, isSplit && unsplit !== undefined ? `${sentence(reason)} ${unsplit}` : reason)
}

/** One warning per cluster that a Ready session goes without, for the log of a client that attaches now. */
export const leftOutWarnings = (parent: MirrordMultiClusterSession, details: LeftOutDetails): ReadonlyArray<string> =>
  Object.keys(parent.status?.clusterSessions ?? {}).flatMap((cluster) => leftOutWarning(parent, cluster, details) ?? [])
