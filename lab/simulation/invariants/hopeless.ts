/** Clients that cannot be served, whatever an operator does: their cluster has no operator, or their target no pods. */

import type { SimClient } from "../world/sim-client.ts"
import type { SimCluster, World } from "../world/world.ts"

/** The clusters that sessions over many need. */
const neededBy = (world: World): ReadonlyArray<string> => {
  const { plan } = world
  const inFleet = plan.clusters.map(({ name }) => name).filter((name) => world.isInFleet(name))
  return [plan.primary, plan.defaultCluster, world.defaultCluster, ...(plan.sessionStart === "all" ? inFleet : [])]
}

/** The clusters that a client's session needs. */
const neededFor = (world: World, client: SimClient | undefined): ReadonlyArray<string> =>
  client?.isOfOneCluster === true ? [client.home] : neededBy(world)

/** The clusters that a client's session needs, and that run workloads. */
export const workloadsFor = (world: World, client: SimClient | undefined): ReadonlyArray<SimCluster> =>
  neededFor(world, client)
    .filter((name) => world.plan.clusters.some((cluster) => cluster.name === name))
    .map((name) => world.cluster(name))

/** Whether a client cannot be served for good: a cluster that it needs has no operator, or no pods of the target. */
export const isHopeless = (world: World, client: SimClient | undefined): boolean =>
  neededFor(world, client).some((name) => world.cluster(name).host.isGone) ||
  (client?.wish === undefined &&
    workloadsFor(world, client).some(({ kubelet }) => kubelet.podsOf("myapp").length === 0))
