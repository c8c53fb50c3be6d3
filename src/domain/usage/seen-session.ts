/**
 * A session's object as a record of its use: a session over many clusters by its parent, and a user's own session in
 * one cluster. Children have no record, because their parent has it.
 */

import { cleanText, textLimits } from "../clean-text.ts"
import type { MirrordClusterSession } from "../resources/mirrord-cluster-session.ts"
import type { MirrordMultiClusterSession } from "../resources/mirrord-multi-cluster-session.ts"
import { isBeingDeleted, type ObjectMeta, timeOf } from "../resources/object-meta.ts"
import type { KubeResourceTarget, SessionOwner } from "../resources/session-shapes.ts"
import { isOfCi, sessionInfo, parentInfo } from "../sessions/session-info.ts"
import { fromKubeTarget } from "../targets/kube-target.ts"
import { formatTargetPath } from "../targets/target-path.ts"
import type { MachineId, RecordedId, UsageRecord } from "./usage-record.ts"

/** A session as it is seen now; `stoppedAt` is set while its object is being deleted. */
export type SeenSession = UsageRecord

interface CommonSpec {
  readonly namespace: string
  readonly owner: SessionOwner
  readonly target?: KubeResourceTarget | null
  readonly ciInfo?: { readonly provider?: string | null; readonly pipeline?: string | null } | null
}

/** Objects may have been made by others. */
const name = (text: string | null | undefined): string => cleanText(text ?? "", textLimits.name)

const targetOf = (target: KubeResourceTarget | null | undefined, otherwise: string): string => {
  const known = fromKubeTarget(target)
  if (known === undefined) return cleanText(otherwise, textLimits.targetName)
  const whole = known._tag === "Targetless" ? known : { ...known, container: undefined }
  return cleanText(formatTargetPath(whole), textLimits.targetName)
}

const endOf = (metadata: ObjectMeta, startedAt: number): number | undefined =>
  isBeingDeleted(metadata) ? Math.max(startedAt, timeOf(metadata.deletionTimestamp) ?? startedAt) : undefined

interface Seen {
  readonly id: string
  readonly metadata: ObjectMeta
  readonly spec: CommonSpec
  readonly heartbeat: string | null | undefined
  readonly clusters: ReadonlyArray<string>
  readonly alias: string
}

const recordOf = ({ alias, clusters, heartbeat, id, metadata, spec }: Seen): SeenSession | undefined => {
  const startedAt = timeOf(metadata.creationTimestamp)
  if (startedAt === undefined) return undefined
  const { ciInfo, namespace, owner, target } = spec
  return {
    id: id as RecordedId,
    kind: isOfCi({ ciInfo: ciInfo ?? null }) ? "ci" : "exec",
    machineId: name(owner.userId) as MachineId,
    kubernetesUser: name(owner.k8sUsername),
    clientUser: name(owner.username),
    clientHost: name(owner.hostname),
    clusters: [...new Set(clusters.map(name))].toSorted(),
    namespace: name(namespace),
    target: targetOf(target, alias),
    container: name(target?.container),
    ciProvider: name(ciInfo?.provider),
    ciPipeline: name(ciInfo?.pipeline),
    startedAt,
    lastSeenAt: Math.max(startedAt, timeOf(heartbeat) ?? startedAt),
    stoppedAt: endOf(metadata, startedAt)
  }
}

/** Reads each object once: an object never changes, and all sessions are looked at each second. */
const onceEach = <T extends object>(
  read: (object: T) => SeenSession | undefined
): ((object: T) => SeenSession | undefined) => {
  const known = new WeakMap<T, { readonly seen: SeenSession | undefined }>()
  return (object) => {
    const before = known.get(object)
    if (before !== undefined) return before.seen
    const seen = read(object)
    known.set(object, { seen })
    return seen
  }
}

/** A session over many clusters. Only its default counts before it was ready there: another may be left out yet. */
export const seenParent = onceEach((parent: MirrordMultiClusterSession): SeenSession | undefined => {
  const { metadata, spec, status } = parent
  return recordOf({
    id: parentInfo(parent, [], 0).id ?? metadata.name,
    metadata,
    spec,
    heartbeat: status?.connectedTimestamp,
    clusters: spec.clusters.filter(
      (cluster) => cluster === spec.defaultCluster || status?.clusterSessions?.[cluster]?.ready === true
    ),
    alias: spec.targetAlias
  })
})

/** A session in one cluster. `undefined` for a child. */
export const seenChild = onceEach((session: MirrordClusterSession): SeenSession | undefined => {
  const { metadata, spec, status } = session
  if ((spec.multiClusterParentName ?? undefined) !== undefined) return undefined
  return recordOf({
    id: sessionInfo(session, [], 0).id ?? metadata.name,
    metadata,
    spec,
    heartbeat: status?.connectedTimestamp,
    clusters: [],
    alias: "unknown"
  })
})
