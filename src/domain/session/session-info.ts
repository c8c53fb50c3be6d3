/**
 * Sessions as users see them in lists: the rows of `mirrord session list` and of the operator's status. How a session
 * stands is decided elsewhere; these rows only say it.
 */

import { cleanText, textLimits } from "../clean-text.ts"
import type { MirrordClusterSession } from "../resources/mirrord-cluster-session.ts"
import type { MirrordMultiClusterSession } from "../resources/mirrord-multi-cluster-session.ts"
import type { MultiClusterSessionInfo } from "../resources/mirrord-operator.ts"
import { timeOf } from "../resources/object-meta.ts"
import type { KubeResourceTarget, SessionOwner } from "../resources/session-shapes.ts"
import type { SessionInfo } from "../resources/session.ts"
import type { StolenPort } from "../routing/port-locks.ts"
import { fromKubeTarget } from "../target/kube-target.ts"
import { formatTargetPath } from "../target/target-path.ts"
import { sessionIdOfParent } from "./names.ts"
import { sessionIdHex } from "./session-id.ts"

/** Objects may have been made by others, so a text in them is not clean of itself. */
const name = (text: string): string => cleanText(text, textLimits.name)

/** The user of a session in one line. */
export const ownerText = (owner: SessionOwner): string =>
  `${name(owner.username)}/${name(owner.k8sUsername)}@${name(owner.hostname)}`

const targetText = (target: KubeResourceTarget | null | undefined, otherwise: string): string => {
  const known = fromKubeTarget(target)
  return cleanText(known === undefined ? otherwise : formatTargetPath(known), textLimits.targetName)
}

const secondsSince = (created: string | null | undefined, now: number): number =>
  Math.max(0, Math.floor((now - (timeOf(created) ?? now)) / 1000))

/** The parts of a session's spec that lists show, whichever kind it is of. */
interface ListedSpec {
  readonly namespace: string
  readonly owner: SessionOwner
  readonly key?: string | null
  readonly httpFilter?: { readonly headerFilter?: string | null } | null
}

/** Whether a session was started in a CI run (operator-api.md §3.4). */
export const isOfCi = ({ ciInfo }: { readonly ciInfo?: object | null }): boolean => (ciInfo ?? undefined) !== undefined

/** The fields that a session of either kind has in lists. `ports`: the ports that it steals. */
const listed = ({ httpFilter, key, namespace, owner }: ListedSpec, ports: ReadonlyArray<StolenPort>) => {
  const clean = (text: string | null | undefined): string | undefined =>
    (text ?? undefined) === undefined ? undefined : cleanText(text ?? "", textLimits.parameter)
  const headerFilter = clean(httpFilter?.headerFilter)
  const sessionKey = clean(key)
  return {
    user: ownerText(owner),
    namespace: name(namespace),
    user_id: owner.userId,
    ...(ports.length === 0 ? {} : { locked_ports: ports.map((port) => ({ ...port, kind: "steal" })) }),
    ...(sessionKey === undefined ? {} : { key: sessionKey }),
    ...(headerFilter === undefined ? {} : { http_filter: { headerFilter } })
  }
}

/** A child has the id of its parent: both are one session to its user. */
const idOf = ({ metadata, spec }: MirrordClusterSession): string => {
  const parent = sessionIdOfParent(spec.multiClusterParentName ?? "")
  return parent === undefined ? metadata.name.replace(/^0+(?=.)/, "").toUpperCase() : sessionIdHex(parent)
}

/** A session as the client lists it (operator-api.md §4.1). `ports`: the ports that it steals. */
export const sessionInfo = (
  session: MirrordClusterSession,
  ports: ReadonlyArray<StolenPort>,
  now: number
): SessionInfo => ({
  id: idOf(session),
  duration_secs: secondsSince(session.metadata.creationTimestamp, now),
  target: targetText(session.spec.target, "unknown"),
  ...listed(session.spec, ports)
})

/** A multi-cluster session in the same form: the client joins its own rows by the id. */
export const parentInfo = (
  { metadata, spec }: MirrordMultiClusterSession,
  ports: ReadonlyArray<StolenPort>,
  now: number
): SessionInfo => {
  const id = sessionIdOfParent(metadata.name)
  return {
    id: id === undefined ? metadata.name : sessionIdHex(id),
    duration_secs: secondsSince(metadata.creationTimestamp, now),
    target: targetText(spec.target, spec.targetAlias),
    ...listed(spec, ports)
  }
}

/**
 * A multi-cluster session in the operator's status (operator-api.md §3.6). A cluster that is left out is none of the
 * session's: requests that enter there go to the workload.
 */
export const multiClusterSessionInfo = (parent: MirrordMultiClusterSession, now: number): MultiClusterSessionInfo => ({
  id: parent.metadata.name,
  durationSecs: secondsSince(parent.metadata.creationTimestamp, now),
  user: ownerText(parent.spec.owner),
  target: targetText(parent.spec.target, parent.spec.targetAlias),
  namespace: name(parent.spec.namespace),
  clusters: parent.spec.clusters.filter((cluster) => parent.status?.clusterSessions?.[cluster]?.error === undefined),
  phase: parent.status?.phase ?? "Initializing"
})
