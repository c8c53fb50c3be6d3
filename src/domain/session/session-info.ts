/**
 * Sessions as users see them in lists: the rows of `mirrord session list` and of the operator's status. How a session
 * stands is decided elsewhere; these rows only say it.
 */

import type { MirrordClusterSession } from "../resources/mirrord-cluster-session.ts"
import type { MirrordMultiClusterSession } from "../resources/mirrord-multi-cluster-session.ts"
import type { MultiClusterSessionInfo } from "../resources/mirrord-operator.ts"
import { timeOf } from "../resources/object-meta.ts"
import type { KubeResourceTarget, SessionOwner } from "../resources/session-shapes.ts"
import type { SessionInfo } from "../resources/session.ts"
import { formatTargetPath } from "../target/target-path.ts"
import { fromKubeTarget } from "../target/target.ts"
import { sessionIdOfParent } from "./names.ts"
import { sessionIdHex } from "./session-id.ts"

const ownerText = (owner: SessionOwner): string => `${owner.username}/${owner.k8sUsername}@${owner.hostname}`

const targetText = (target: KubeResourceTarget | null | undefined, otherwise: string): string => {
  const known = fromKubeTarget(target)
  return known === undefined ? otherwise : formatTargetPath(known)
}

const secondsSince = (created: string | null | undefined, now: number): number =>
  Math.max(0, Math.floor((now - (timeOf(created) ?? now)) / 1000))

/** A session as the client lists it (operator-api.md §4.1). */
export const sessionInfo = (session: MirrordClusterSession, now: number): SessionInfo => ({
  id: session.metadata.name.replace(/^0+(?=.)/, "").toUpperCase(),
  duration_secs: secondsSince(session.metadata.creationTimestamp, now),
  user: ownerText(session.spec.owner),
  target: targetText(session.spec.target, "unknown"),
  namespace: session.spec.namespace,
  user_id: session.spec.owner.userId,
  ...(session.spec.key === undefined ? {} : { key: session.spec.key })
})

/** A multi-cluster session in the same form: the client joins its own rows by the id. */
export const parentInfo = (parent: MirrordMultiClusterSession, now: number): SessionInfo => {
  const id = sessionIdOfParent(parent.metadata.name)
  return {
    id: id === undefined ? parent.metadata.name : sessionIdHex(id),
    duration_secs: secondsSince(parent.metadata.creationTimestamp, now),
    user: ownerText(parent.spec.owner),
    target: targetText(parent.spec.target, parent.spec.targetAlias),
    namespace: parent.spec.namespace,
    user_id: parent.spec.owner.userId,
    ...(parent.spec.key === undefined ? {} : { key: parent.spec.key })
  }
}

/** A multi-cluster session in the operator's status (operator-api.md §3.6). */
export const multiClusterSessionInfo = (parent: MirrordMultiClusterSession, now: number): MultiClusterSessionInfo => ({
  id: parent.metadata.name,
  durationSecs: secondsSince(parent.metadata.creationTimestamp, now),
  user: ownerText(parent.spec.owner),
  target: targetText(parent.spec.target, parent.spec.targetAlias),
  namespace: parent.spec.namespace,
  clusters: parent.spec.clusters,
  phase: parent.status?.phase ?? "Initializing"
})
