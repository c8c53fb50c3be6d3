/**
 * Describes the clusters of a primary's fleet as `mirrord operator status` shows them, and whether the fleet's
 * configuration is in use. The fleet itself checks the clusters' health.
 */

import { textLimits, cleanText } from "../../../domain/clean-text.ts"
import { endingClause, endingSince } from "../../../domain/credentials/credential-end.ts"
import type { Condition } from "../../../domain/resources/condition.ts"
import {
  configurationInUse,
  type ConnectedCluster,
  credentialsLast,
  foundClustersInUse
} from "../../../domain/resources/mirrord-operator.ts"
import { timestamp } from "../../../domain/resources/object-meta.ts"
import { lossGrace, unreadable } from "../../../domain/session/cluster-verdict.ts"
import type { ConfigurationSource, ProvidedVerdict } from "../../fleet/configuration-source.ts"
import type { FleetCluster } from "../../fleet/fleet-cluster.ts"
import type { Fleet } from "../../fleet/fleet.ts"

const connectedCluster = (cluster: FleetCluster, now: number): ConnectedCluster => {
  const seen = cluster.health()
  const base = { name: cluster.name, lastCheck: timestamp(seen?.checkedAt ?? now) }
  if (seen === undefined) return { ...base, error: { message: "it has not been checked yet" } }
  const { health } = seen
  if (health._tag === "Error") return { ...base, error: { message: health.message } }
  // The cluster's operator answers, but its sessions cannot be read, so new sessions are refused there.
  if (now >= (cluster.unreadableSince() ?? now) + lossGrace) return { ...base, error: { message: unreadable } }
  const { fingerprint, operatorVersion: version } = health
  return {
    ...base,
    connected: { operatorVersion: version, ...(fingerprint === undefined ? {} : { licenseFingerprint: fingerprint }) }
  }
}

/** `now`: epoch ms. */
export const connectedClusters = (fleet: Fleet, now: number): ReadonlyArray<ConnectedCluster> =>
  [...fleet.clusters.values()].map((cluster) => connectedCluster(cluster, now))

/** The credentials that nobody renews, if some end soon or have ended. `now`: epoch ms. */
const credentialsCondition = (fleet: Fleet, now: number): Condition | undefined => {
  const told = [...fleet.clusters.values()].flatMap((cluster) => {
    const ending = cluster.ending()
    const [since, clause] = ending === undefined ? [] : [endingSince(ending.validity, now), endingClause(ending, now)]
    return since === undefined || clause === undefined
      ? []
      : [{ since, sentence: `Cluster ${cluster.name}: ${clause}.` }]
  })
  if (told.length === 0) return undefined
  return {
    type: credentialsLast,
    status: "False",
    reason: "EndsSoon",
    message: cleanText(told.map(({ sentence }) => sentence).join(" "), textLimits.message),
    lastTransitionTime: timestamp(Math.min(...told.map(({ since }) => since)))
  }
}

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
  reason: refused().length > 0 ? "NameRefused" : "InUse",
  message: cleanText(refused().join(" ") || "All clusters that were found are in the fleet.", textLimits.message),
  lastTransitionTime: timestamp(since())
})

/** The conditions of a primary that follows its configuration. `now`: epoch ms. */
export const fleetConditions = (source: ConfigurationSource, fleet: Fleet, now: number): ReadonlyArray<Condition> => {
  const credentials = credentialsCondition(fleet, now)
  return [
    configurationCondition(source),
    ...(source.provided === undefined ? [] : [providedCondition(source.provided)]),
    ...(credentials === undefined ? [] : [credentials])
  ]
}
