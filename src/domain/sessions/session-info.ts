/**
 * Sessions as users see them in lists: the rows of `mirrord session list` and of the operator's status. How a session
 * stands is decided elsewhere; these rows only say it.
 */

import { cleanText, textLimits } from "../clean-text.ts"
import type { StolenPort } from "../relay/port-locks.ts"
import { complaintOf } from "../resources/condition.ts"
import { type MirrordClusterSession, readyCondition } from "../resources/mirrord-cluster-session.ts"
import type { MirrordMultiClusterSession } from "../resources/mirrord-multi-cluster-session.ts"
import type { MultiClusterSessionInfo } from "../resources/mirrord-operator.ts"
import { timeOf } from "../resources/object-meta.ts"
import type { KubeResourceTarget, SessionOwner } from "../resources/session-shapes.ts"
import type { SessionInfo } from "../resources/session.ts"
import { fromKubeTarget } from "../targets/kube-target.ts"
import { formatTargetPath } from "../targets/target-path.ts"
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

/** The clusters that take no part in a session, each with its reason: requests that enter there go to the workload. */
const leftOutOf = ({ spec, status }: MirrordMultiClusterSession): ReadonlyArray<readonly [name: string, why: string]> =>
  spec.clusters.flatMap((cluster) => {
    const why = status?.clusterSessions?.[cluster]?.error
    return why === undefined ? [] : [[cluster, why] as const]
  })

/** A target, and the clusters that take no part: lists of the client have no other text that could say so. */
const targetOf = (parent: MirrordMultiClusterSession): string => {
  const target = targetText(parent.spec.target, parent.spec.targetAlias)
  const names = leftOutOf(parent).map(([cluster]) => name(cluster))
  return names.length === 0 ? target : cleanText(`${target} (without ${names.join(", ")})`, textLimits.message)
}

/** A multi-cluster session in the same form: the client joins its own rows by the id. */
export const parentInfo = (
  parent: MirrordMultiClusterSession,
  ports: ReadonlyArray<StolenPort>,
  now: number
): SessionInfo => {
  const { metadata, spec } = parent
  const id = sessionIdOfParent(metadata.name)
  return {
    id: id === undefined ? metadata.name : sessionIdHex(id),
    duration_secs: secondsSince(metadata.creationTimestamp, now),
    target: targetOf(parent),
    ...listed(spec, ports)
  }
}

/** How the clusters of a session stand, in short and harmless texts. */
const clusterSessionsOf = ({
  spec: { clusters },
  status
}: MirrordMultiClusterSession): NonNullable<MultiClusterSessionInfo["clusterSessions"]> =>
  Object.fromEntries(
    clusters.map((cluster) => {
      const { error, ready = false } = status?.clusterSessions?.[cluster] ?? {}
      return [name(cluster), error === undefined ? { ready } : { ready, error: cleanText(error, textLimits.message) }]
    })
  )

/**
 * A multi-cluster session in the operator's status (operator-api.md §3.6). A cluster that is left out is none of the
 * session's, and the reason stands behind the phase, the one text beside it that `mirrord operator status` prints as it
 * is.
 */
export const multiClusterSessionInfo = (parent: MirrordMultiClusterSession, now: number): MultiClusterSessionInfo => {
  const { metadata, spec, status } = parent
  const leftOut = new Map(leftOutOf(parent))
  const without = [...leftOut].map(([cluster, why]) => `without ${cluster}: ${why}`)
  const phase = status?.phase ?? "Initializing"
  const reason = status?.closed ?? complaintOf(status?.conditions, readyCondition)
  return {
    id: metadata.name,
    durationSecs: secondsSince(metadata.creationTimestamp, now),
    user: ownerText(spec.owner),
    target: targetText(spec.target, spec.targetAlias),
    namespace: name(spec.namespace),
    clusters: spec.clusters.filter((cluster) => !leftOut.has(cluster)),
    phase: cleanText([phase, ...without].join(", "), textLimits.message),
    clusterSessions: clusterSessionsOf(parent),
    ...(reason === undefined ? {} : { reason: cleanText(reason, textLimits.message) })
  }
}
