/**
 * Reads the primary's ledger of debts (failures.md §2.3) out of the simulated cluster, for invariants. It is read
 * straight from the ConfigMap, not by the operator's own code, so that a mistake there cannot hide itself.
 */

import { configMaps } from "../../../src/domain/resources/core-kinds.ts"
import { operatorNamespace } from "../world/operator-replica.ts"
import type { World } from "../world/world.ts"

export const ledgerName = "mirrord-operator-debts"

/** The cluster of each child that the primary owes. */
export const debtsOf = (world: World): ReadonlyMap<string, string> => {
  const ledger = world.primary.server.objects.peek(configMaps, ledgerName, operatorNamespace)
  const data = (ledger?.["data"] ?? {}) as Readonly<Record<string, string>>
  return new Map(
    Object.entries(data).map(([key, text]) => {
      const { cluster, parentUid } = JSON.parse(text) as { readonly cluster: string; readonly parentUid: string }
      return [key.endsWith(`.${parentUid}`) ? key.slice(0, -parentUid.length - 1) : key, cluster]
    })
  )
}

/** Whether no operator and no API server answers in a cluster, so that nothing can be done there. */
export const isAway = (world: World, cluster: string): boolean => {
  const known = world.clusters.get(cluster)
  return known === undefined || known.host.isGone || known.server.isDown
}

/** Whether the primary can pay nothing in a cluster: it is away, or not in the fleet. */
export const isOutOfReach = (world: World, cluster: string): boolean =>
  isAway(world, cluster) || !world.isInFleet(cluster)
