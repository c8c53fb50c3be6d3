/**
 * Names of the ConfigMaps with the reports of clusters, and of their entries.
 *
 * Not here: the content of the entries (cluster-report.ts).
 */

import { clusterSlug, type ClusterName, type Sha256Hex } from "../cluster-name.ts"

const prefix = "mirrord-operator-report-"

/** Value of the ledger's label on reports. */
export const reportKind = "cluster-report"

/** The entry about the cluster itself. All others are children, by their names, which no child's name equals. */
export const clusterEntry = "_cluster"

/** Name of the ConfigMap with the report of a cluster. */
export const reportName = (cluster: ClusterName, sha256Hex: Sha256Hex): string =>
  prefix + clusterSlug(cluster, sha256Hex)

/** Whether a ledger is the report of a cluster. */
export const isReport = (name: string): boolean => name.startsWith(prefix)
