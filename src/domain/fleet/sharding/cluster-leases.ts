/**
 * The Leases of the clusters that the replicas of a primary share.
 *
 * Not here: the Leases of the replicas, and the times of both (domain/sharding).
 */

import { shardLeaseLabels } from "../../sharding/shard-leases.ts"
import { clusterSlug, type ClusterName, type Sha256Hex } from "../cluster-name.ts"

/** How long a cluster counts as its last owner has reported it, after its Lease has come to its end, ms. */
export const ownerlessGrace = 30_000

export const clusterLeaseName = (cluster: ClusterName, sha256Hex: Sha256Hex): string =>
  `mirrord-operator-cluster-${clusterSlug(cluster, sha256Hex)}`

/** A Lease's name contains its cluster, as a slug. */
export const clusterLeaseMetadata = { labels: shardLeaseLabels("cluster") }
