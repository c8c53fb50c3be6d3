/**
 * Describes the clusters of a primary's fleet as `mirrord operator status` shows them, and whether the fleet's
 * configuration is in use. The fleet itself checks the clusters' health.
 */

import { textLimits, cleanText } from "../../../domain/clean-text.ts"
import { isCredentialRefusal } from "../../../domain/fleet/check-problem.ts"
import type { ClusterName } from "../../../domain/fleet/cluster-name.ts"
import {
  type ClusterReadiness,
  credentialsLastCondition,
  clusterObject,
  type ServedCluster
} from "../../../domain/fleet/cluster-object.ts"
import { missingRight } from "../../../domain/fleet/missing-right.ts"
import type { Condition } from "../../../domain/resources/condition.ts"
import type { MirrordMultiClusterSession } from "../../../domain/resources/mirrord-multi-cluster-session.ts"
import {
  configurationInUse,
  type ConnectedCluster,
  foundClustersInUse
} from "../../../domain/resources/mirrord-operator.ts"
import { timestamp } from "../../../domain/resources/object-meta.ts"
import { lossGrace, unreadable } from "../../../domain/sessions/cluster-verdict.ts"
import type { KubeError } from "../../../ports/kube-api.ts"
import type { ConfigurationSource, ProvidedVerdict } from "../../fleet/configuration-source.ts"
import type { FleetCluster } from "../../fleet/fleet-cluster.ts"
import type { Fleet } from "../../fleet/fleet.ts"

/** Since when the sessions of a cluster count as unreadable, epoch ms; undefined: they do not. */
const unreadableFrom = (cluster: FleetCluster, now: number): number | undefined => {
  const from = cluster.unreadableSince()
  return from !== undefined && now >= from + lossGrace ? from + lossGrace : undefined
}

/** A clause. */
const whyUnreadable = (problem: KubeError | undefined): string => {
  if (problem === undefined) return unreadable
  return `${unreadable}: ${problem.reason === "Forbidden" ? missingRight(problem.detail) : problem.detail}`
}

const connectedCluster = (cluster: FleetCluster, now: number): ConnectedCluster => {
  const seen = cluster.health()
  const base = { name: cluster.name, lastCheck: timestamp(seen?.checkedAt ?? now) }
  if (seen === undefined) return { ...base, error: { message: "it has not been checked yet" } }
  const { health } = seen
  if (health._tag === "Error") return { ...base, error: { message: health.message } }
  // The cluster's operator answers, but its sessions cannot be read, so new sessions are refused there.
  if (unreadableFrom(cluster, now) !== undefined)
    return { ...base, error: { message: whyUnreadable(cluster.children()?.problem()) } }
  const { fingerprint, operatorVersion: version } = health
  return {
    ...base,
    connected: { operatorVersion: version, ...(fingerprint === undefined ? {} : { licenseFingerprint: fingerprint }) }
  }
}

/** `now`: epoch ms. */
export const connectedClusters = (fleet: Fleet, now: number): ReadonlyArray<ConnectedCluster> =>
  [...fleet.clusters.values()].map((cluster) => connectedCluster(cluster, now))

/**
 * Of a cluster that new sessions cannot use. `askedAt`: of the check that found that; `undefined` if it is not checked.
 */
const unreachable = (message: string, askedAt: number | undefined, lacksRight: boolean): ClusterReadiness => {
  if (lacksRight) return { _tag: "RightMissing", message }
  if (isCredentialRefusal(message)) return { _tag: "CredentialsRefused", message }
  return { _tag: askedAt === undefined ? "NotUsable" : "Lost", message }
}

const readinessOf = (cluster: FleetCluster, now: number): ClusterReadiness => {
  const { askedAt, error = "it has not been checked yet", isConnecting = false, reachable } = cluster.reach()
  if (isConnecting) return { _tag: "Connecting", message: error }
  const health = cluster.health()?.health
  if (!reachable) return unreachable(error, askedAt, health?._tag === "Error" && health.lacksRight === true)
  if (unreadableFrom(cluster, now) === undefined) return { _tag: "Connected" }
  const problem = cluster.children()?.problem()
  return {
    _tag: problem?.reason === "Forbidden" ? "RightMissing" : "SessionsUnreadable",
    message: whyUnreadable(problem)
  }
}

/** `now`: epoch ms. */
export const fleetReadiness = (fleet: Fleet, now: number): ReadonlyMap<ClusterName, ClusterReadiness> =>
  new Map([...fleet.clusters.values()].map((cluster) => [cluster.name, readinessOf(cluster, now)]))

/** Whether a session over many clusters runs in a cluster, or is about to. */
const runsIn = ({ status }: MirrordMultiClusterSession, cluster: ClusterName): boolean => {
  const entry = status?.clusterSessions?.[cluster]
  return (
    status?.phase !== "Failed" && status?.phase !== "Terminating" && entry !== undefined && entry.error === undefined
  )
}

/** The clusters as objects. `own`: name of the primary's cluster. `now`: epoch ms. */
export const fleetObjects = (
  fleet: Fleet,
  own: ClusterName,
  parents: ReadonlyArray<MirrordMultiClusterSession>,
  now: number
): ReadonlyArray<ServedCluster> =>
  [...fleet.clusters.values()].map((cluster) => {
    const { isDefault, name } = cluster
    const seen = cluster.health()
    const credentials = cluster.credentials()
    const known = {
      name,
      roles: [...(name === own ? (["Primary"] as const) : []), ...(isDefault ? (["Default"] as const) : [])],
      authType: credentials?.auth,
      readiness: readinessOf(cluster, now),
      since: unreadableFrom(cluster, now) ?? cluster.since(),
      operatorVersion: seen?.health._tag === "Connected" ? seen.health.operatorVersion : undefined,
      checkedAt: seen?.checkedAt,
      expiresAt: credentials?.until,
      ending: cluster.ending(),
      tunnelSince: cluster.tunnelSince?.(),
      replica: cluster.owner?.(),
      sessions: parents.filter((parent) => runsIn(parent, name)).length
    }
    return clusterObject(known, now)
  })

/** Whether the operator runs with the configuration that its files hold now. */
const configurationCondition = ({ verdict }: ConfigurationSource): Condition => {
  const { problems, since } = verdict()
  const isRefused = problems.length > 0
  const message = isRefused ? problems.join(" ") : "The operator runs with the configuration of its files."
  return {
    type: configurationInUse,
    status: isRefused ? "False" : "True",
    reason: isRefused ? "Refused" : "InUse",
    message: cleanText(message, textLimits.message),
    lastTransitionTime: timestamp(since)
  }
}

/** Whether all clusters that were found are in the fleet. */
const providedCondition = ({ refused, since }: ProvidedVerdict): Condition => ({
  type: foundClustersInUse,
  status: refused().length > 0 ? "False" : "True",
  reason: refused().length > 0 ? "NotUsed" : "InUse",
  message: cleanText(refused().join(" ") || "All clusters that were found are in the fleet.", textLimits.message),
  lastTransitionTime: timestamp(since())
})

/** The conditions of a primary that follows its configuration. `now`: epoch ms. */
export const fleetConditions = (source: ConfigurationSource, fleet: Fleet, now: number): ReadonlyArray<Condition> => {
  const endings = [...fleet.clusters.values()].map(({ ending, name }) => ({
    ending: ending(),
    sentence: (clause: string) => `Cluster ${name}: ${clause}.`
  }))
  return [
    configurationCondition(source),
    ...(source.provided === undefined ? [] : [providedCondition(source.provided)]),
    ...credentialsLastCondition(endings, now)
  ]
}
