/** L-B1 (failures.md §2.7). A branch that waits for a cluster without an operator waits for a person. */

import { timeOf } from "../../../src/domain/resources/object-meta.ts"
import { phaseOfBranch } from "../world/branch-order.ts"
import { branchesIn, isOrdering, branchPath } from "./branch-history.ts"
import { mayAct } from "./branch-operators.ts"
import type { Invariant } from "./invariant.ts"

/** How long a branch may take where nothing is wrong, ms. */
const patience = 60_000

export const branchesAreDecided: Invariant = {
  id: "L-B1",
  ofBranches: true,
  sentence: "At rest each branch is Ready or Failed.",
  begin: (world) => ({
    atRest: () =>
      [...world().clusters.values()].flatMap((cluster) => {
        if (!mayAct(world(), cluster.name)) return []
        return branchesIn(cluster).flatMap((branch) => {
          const phase = phaseOfBranch(branch)
          const age = world().now - (timeOf(branch.metadata.creationTimestamp) ?? 0)
          const role = isOrdering(world(), cluster.name) ? "origin" : "branch"
          return phase === "Ready" || phase === "Failed" || age < patience
            ? []
            : [`The ${role} ${branchPath(branch)} in ${cluster.name} is ${phase ?? "without a phase"}.`]
        })
      })
  })
}
