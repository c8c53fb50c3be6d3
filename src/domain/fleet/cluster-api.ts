/**
 * Clusters of Cluster API: which of its `Cluster` objects can be used, and where their kubeconfigs are. Its control
 * plane providers write these Secrets, and write them again before the certificate in them ends.
 *
 * Not here: finding them (app/fleet/cluster-api-clusters.ts).
 */

import * as Schema from "effect/Schema"
import { asObjects, at } from "../json.ts"
import { keptBy } from "../resources/kept-fields.ts"
import { ObjectMeta } from "../resources/object-meta.ts"
import type { WatchedResource } from "../resources/resource-descriptor.ts"

/** The versions that are understood, the newest first. */
export const clusterApiVersions = ["v1beta2", "v1beta1"] as const
export type ClusterApiVersion = (typeof clusterApiVersions)[number]

const Cluster = Schema.Struct({ metadata: ObjectMeta })

const told = Schema.optionalKey(Schema.Unknown)
const ProvisionedCluster = Schema.Struct({
  metadata: ObjectMeta,
  status: Schema.optionalKey(Schema.Struct({ initialization: told, controlPlaneReady: told, conditions: told }))
})

/** The `Cluster` objects in one of their versions. */
export const clusterApiClusters = (version: ClusterApiVersion): WatchedResource<typeof Cluster.Type> => ({
  group: "cluster.x-k8s.io",
  version,
  kind: "Cluster",
  plural: "clusters",
  scope: "Namespaced",
  schema: Cluster,
  keeps: keptBy(ProvisionedCluster)
})

/** Key of the Secret with a cluster's kubeconfig. */
export const clusterApiKey = "value"

/** Name of the Secret with a cluster's kubeconfig, in the namespace of its `Cluster`. */
export const clusterApiSecret = (cluster: string): string => `${cluster}-kubeconfig`

/**
 * Whether the API server of a cluster has been up, and the cluster is not being deleted: before and after that it would
 * count as lost. v1beta2 has `status.initialization`, v1beta1 a condition and, without it, `controlPlaneReady`.
 */
export const isProvisioned = (cluster: object): boolean => {
  if (at(cluster, "metadata", "deletionTimestamp") !== undefined) return false
  const conditions = asObjects(at(cluster, "status", "conditions"))
  return (
    at(cluster, "status", "initialization", "controlPlaneInitialized") === true ||
    at(cluster, "status", "controlPlaneReady") === true ||
    conditions.some(({ status, type }) => type === "ControlPlaneInitialized" && status === "True")
  )
}
