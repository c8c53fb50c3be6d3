/** L-B5 (failures.md §2.11). */

import { phaseOfBranch } from "../world/branch-order.ts"
import { branchesIn, branchHistory, marksOf, branchPath, primaryUid } from "./branch-history.ts"
import { mayAct, maySync } from "./branch-operators.ts"
import type { Invariant } from "./invariant.ts"

/** How long a failure may stay, ms. */
const patience = 30_000

export const failedNamesAreFreed: Invariant = {
  id: "L-B5",
  ofBranches: true,
  sentence: "At rest no branch has been Failed for more than 30 seconds.",
  begin: (world) => {
    const history = branchHistory(world)
    return {
      on: (event) => {
        history.take(event)
        return undefined
      },
      atRest: () =>
        [...world().clusters.values()].flatMap((cluster) => {
          if (!mayAct(world(), cluster.name)) return []
          return branchesIn(cluster).flatMap((branch) => {
            const marks = marksOf(branch)
            // The primary of a copy deletes it, and its own cluster does so if that is away for long.
            const { defaultCluster } = world()
            const isOurs = marks?.cluster === primaryUid(world()) && cluster.name === defaultCluster
            const isItsTurn = marks === undefined || (isOurs && maySync(world()))
            const since = history.of(branch)?.phaseAt ?? 0
            return phaseOfBranch(branch) === "Failed" && isItsTurn && world().now - since > patience
              ? [`The branch ${branchPath(branch)} in ${cluster.name} has been Failed for too long.`]
              : []
          })
        })
    }
  }
}
