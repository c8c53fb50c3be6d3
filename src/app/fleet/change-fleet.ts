/**
 * Brings a running fleet from one configuration to another; domain/fleet/difference.ts says what that takes.
 *
 * Not here: where the other configuration comes from.
 */

import { Effect } from "effect"
import type { FleetConfiguration } from "../../domain/fleet/configuration.ts"
import { difference } from "../../domain/fleet/difference.ts"
import { workloadClusters } from "../../domain/fleet/roles.ts"
import { logInfo } from "../kernel/log.ts"
import type { ChangingFleet } from "./fleet.ts"

/** Clusters leave before others join, which may have the address of one that has left. */
export const changeFleet = Effect.fnUntraced(function* (
  fleet: ChangingFleet,
  before: FleetConfiguration,
  after: FleetConfiguration
): Effect.fn.Return<void> {
  const { disengage, engage, reauthenticate, reengage } = difference(before, after)
  const wanted = new Map(workloadClusters(after).map((cluster) => [cluster.name, cluster]))
  for (const cluster of disengage) {
    yield* logInfo("cluster leaves the fleet", { cluster })
    yield* fleet.leave(cluster)
  }
  for (const member of reauthenticate) {
    yield* logInfo("cluster gets another way to authenticate", { cluster: member.name })
    yield* fleet.reauthenticate(member)
  }
  for (const { name } of [...reengage, ...engage]) {
    const cluster = wanted.get(name)
    if (cluster === undefined) continue
    const isKnown = fleet.clusters.has(name)
    yield* logInfo(isKnown ? "cluster is connected to again" : "cluster joins the fleet", { cluster: name })
    yield* fleet.join(cluster)
  }
})
