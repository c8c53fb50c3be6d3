/** Whether an operator is there to do what is to be done about branches; an uninstalled operator does nothing. */

import type { World } from "../world/world.ts"
import { isOrdering } from "./branch-history.ts"

/**
 * Whether the operators that decide about the branches of a cluster run, and can reach each other. A cluster that the
 * fleet has lost stays out of reach.
 */
export const mayAct = (world: World, cluster: string): boolean => {
  const { plan } = world
  const isGone = (name: string): boolean => world.cluster(name).host.isGone
  if (isGone(cluster)) return false
  // Branches that were ordered earlier may be in another cluster than those that are ordered now.
  return !isOrdering(world, cluster) || ![plan.defaultCluster, world.defaultCluster].some(isGone)
}

/** The primaries that order branches in another cluster. */
export const ordering = (world: World): ReadonlyArray<string> =>
  [...world.clusters.keys()].filter((cluster) => isOrdering(world, cluster))

/** Whether primary and default cluster can bring their branches together. */
export const maySync = (world: World): boolean => {
  const { plan } = world
  return isOrdering(world, plan.primary) && mayAct(world, plan.primary)
}
