/**
 * One workload cluster of the fleet, as the code that uses the fleet sees it.
 *
 * Not here: the connection behind it (cluster-connection.ts).
 */

import { branchFeaturesAmong } from "../../domain/branches/branch-features.ts"
import type { ClusterName } from "../../domain/fleet/cluster-name.ts"
import type { EndingCredentials } from "../../domain/fleet/credentials/credential-end.ts"
import { type ClusterState, lastCheckOf, type LastCheck } from "../../domain/fleet/health.ts"
import type { Feature } from "../../domain/resources/mirrord-operator.ts"
import type { ClusterReach } from "../../domain/sessions/observed-session.ts"
import type { ClusterAccess } from "../../ports/cluster-connector.ts"
import type { KubeObject } from "../../ports/kube-api.ts"
import {
  type Children,
  type ClusterConnection,
  type CredentialState,
  isReadable,
  usable
} from "./cluster-connection.ts"

/** One workload cluster of the fleet, as its users see it. */
export interface FleetCluster {
  readonly name: ClusterName
  readonly isDefault: boolean
  /** Missing while the cluster is not engaged: its credentials are absent or unusable, or another cluster answers. */
  readonly access: () => ClusterAccess | undefined
  /** The cluster's `MirrordClusterSession`s; missing while it is not engaged. */
  readonly children: () => Children | undefined
  /** The children as they were seen last, for lists: a cluster that is lost may be another one by now. */
  readonly seenChildren: () => ReadonlyArray<KubeObject>
  /** Since when the children cannot be read, epoch ms, if so. */
  readonly unreadableSince: () => number | undefined
  readonly health: () => LastCheck | undefined
  /** The features of branches that its operator reported last; `undefined` if it has not answered yet. */
  readonly branchFeatures: () => ReadonlyArray<Feature> | undefined
  readonly reach: () => ClusterReach
  /** Since when the cluster is connecting, connected or lost, epoch ms. */
  readonly since: () => number
  readonly credentials: () => CredentialState | undefined
  /** Its credentials, if they end and are not renewed. */
  readonly ending: () => EndingCredentials | undefined
  /** Since when the tunnel of a member that dials out is used, epoch ms; missing or `undefined` without a tunnel. */
  readonly tunnelSince?: (() => number | undefined) | undefined
  /** The pod of the replica that watches it; missing unless clusters are shared among replicas. */
  readonly owner?: (() => string | undefined) | undefined
}

const reachOf = (state: ClusterState): ClusterReach => {
  if (state._tag === "Connecting") return { reachable: true, error: undefined, isConnecting: true }
  if (state._tag === "Connected") return { reachable: true, error: undefined }
  const { reason } = state
  return {
    reachable: false,
    error: reason.message,
    ...(reason._tag === "ChecksFailed" && { askedAt: reason.lastCheck.askedAt })
  }
}

/** `owner`: as in {@link FleetCluster}. */
export const toFleetCluster = (connection: ClusterConnection, owner?: FleetCluster["owner"]): FleetCluster => ({
  name: connection.cluster.name,
  isDefault: connection.cluster.isDefault,
  access: () => usable(connection)?.access,
  children: () => usable(connection)?.children,
  seenChildren: () => connection.engagement?.children.all() ?? [],
  unreadableSince: () => (isReadable(connection) ? undefined : connection.unreadableSince),
  health: () => lastCheckOf(connection.state),
  branchFeatures: () => connection.branchFeatures && branchFeaturesAmong(connection.branchFeatures),
  reach: () => reachOf(connection.state),
  since: () => connection.stateSince,
  credentials: () => connection.credentials(),
  ending: () => connection.ending,
  tunnelSince: () => connection.tunnelSince(),
  owner
})
