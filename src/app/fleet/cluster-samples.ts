/** The metrics of one cluster of the fleet. A cluster that leaves takes them with it: nothing is kept here. */

import { endStep } from "../../domain/fleet/credentials/credential-end.ts"
import type { MetricName, Sample } from "../../domain/metrics/catalogue.ts"
import type { FleetCluster } from "./fleet-cluster.ts"

type ClusterMetric = Extract<MetricName, `braid_cluster_${string}`>

/** `now`: epoch ms, by the clock of the fleet. */
export const clusterSamples = (cluster: FleetCluster, now: number): ReadonlyArray<Sample> => {
  const { isConnecting = false, reachable } = cluster.reach()
  const { askedAt, checkedAt = now } = cluster.health() ?? {}
  const { auth = "", failures, until } = cluster.credentials() ?? {}
  const ending = cluster.ending()
  const dueLater = ending !== undefined && endStep(ending.validity, now) === 0 ? "later" : "due"
  const renewal = ending === undefined ? "operator" : dueLater
  const seconds = (from: number | undefined, to: number): number | undefined =>
    from === undefined ? undefined : (to - from) / 1000
  const values: Readonly<Record<ClusterMetric, number | undefined>> = {
    braid_cluster_connected: reachable && !isConnecting ? 1 : 0,
    braid_cluster_probe_age_seconds: askedAt === undefined ? undefined : seconds(checkedAt, now),
    braid_cluster_probe_duration_seconds: seconds(askedAt, checkedAt),
    braid_cluster_unreadable_seconds: seconds(cluster.unreadableSince() ?? now, now),
    braid_cluster_credential_expiry_seconds: until === undefined ? undefined : seconds(now, until),
    braid_cluster_credential_failures: failures
  }
  return Object.entries(values).flatMap(([name, value]): ReadonlyArray<Sample> => {
    if (value === undefined) return []
    const labels = { cluster: cluster.name }
    return name === "braid_cluster_credential_expiry_seconds"
      ? [{ name, labels: { ...labels, auth, renewal }, value }]
      : [{ name: name as Exclude<ClusterMetric, "braid_cluster_credential_expiry_seconds">, labels, value }]
  })
}
