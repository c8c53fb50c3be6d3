/** The owners of the primary's members, as the Leases of a world say. */

import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { clusterLeaseName } from "../../../src/domain/fleet/sharding/cluster-leases.ts"
import { podNameOf } from "../../../src/domain/leadership/identity.ts"
import { leases } from "../../../src/domain/resources/core-kinds.ts"
import { type OperatorReplica, operatorNamespace } from "../world/operator-replica.ts"
import type { World } from "../world/world.ts"

/** The holding of a process that counts the members that it owns. */
export const ownedClusters = "clusters owned"

/** Whether the members of a world are shared among the primary's replicas. */
export const isSharded = ({ plan, primary }: World): boolean => plan.sharding && primary.host.isElected

/** The clusters that can be members of the primary. */
export const membersOf = ({ clusters, plan }: World): ReadonlyArray<string> =>
  [...clusters.keys()].filter((name) => name !== plan.primary)

/** The pod that a member's Lease names; `undefined` if it was released, or if there is none. */
export const namedOwner = ({ primary }: World, member: string): string | undefined => {
  const name = clusterLeaseName(clusterName(member), sha256Hex)
  const lease = primary.server.objects.peek(leases, name, operatorNamespace)
  const { holderIdentity = "" } = (lease?.["spec"] ?? {}) as { readonly holderIdentity?: string }
  return holderIdentity === "" ? undefined : podNameOf(holderIdentity)
}

/** The replica that a member's Lease names, if it runs. */
export const runningOwner = (world: World, member: string): OperatorReplica | undefined => {
  const owner = namedOwner(world, member)
  return world.primary.host.replicas.find(
    ({ pod, process }) => owner !== undefined && pod?.name === owner && process?.state === "running"
  )
}
