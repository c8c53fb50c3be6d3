/**
 * Why a cluster takes no copy of a branch. Each sentence becomes a branch's `status.error`.
 */

import type { BranchAddress, SyncedKind } from "../../../domain/branches/sync/synced-branch.ts"
import { quotation } from "../../../domain/clean-text.ts"
import type { ClusterName } from "../../../domain/fleet/cluster-name.ts"
import type { KubeError } from "../../../ports/kube-api.ts"

const rights = (cluster: ClusterName): string =>
  `have the same database engines switched on in cluster ${cluster} as here, and its chart upgraded to this version`

/** `problem`: why the branches of the cluster cannot be listed. */
export const listRefusal = (
  cluster: ClusterName,
  { group, plural }: SyncedKind,
  problem: KubeError | undefined
): string | undefined => {
  const kind = `${plural}.${group}`
  switch (problem?.reason) {
    case "NotFound":
      return `The default cluster ${cluster} has no ${kind}: ${rights(cluster)}.`
    case "Forbidden":
      return `This primary may not read ${kind} in the default cluster ${cluster}: ${rights(cluster)}.`
    default:
      return undefined
  }
}

/** `error`: the refusal of a copy. */
export const createRefusal = (
  cluster: ClusterName,
  { name, namespace }: BranchAddress,
  { detail, reason }: KubeError
): string => {
  const cure = reason === "Forbidden" ? `; ${rights(cluster)}` : ""
  return `The default cluster ${cluster} does not take the branch ${namespace}/${name}: ${quotation(detail)}${cure}.`
}
