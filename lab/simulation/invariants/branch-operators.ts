/** Whether somebody is there to do what is to be done about branches; an uninstalled operator does nothing. */

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
  return !isOrdering(world, cluster) || !isGone(plan.defaultCluster)
}

/** Whether primary and default cluster can bring their branches together. */
export const maySync = (world: World): boolean => {
  const { plan } = world
  return isOrdering(world, plan.primary) && mayAct(world, plan.primary)
}
