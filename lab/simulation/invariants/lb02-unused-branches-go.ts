/**
 * L-B2 (failures.md §2.8). When everybody has left, time passes for the longest TTL of a story and a new leader's
 * grace.
 */

import { timeOf } from "../../../src/domain/resources/object-meta.ts"
import { phaseOfBranch } from "../world/branch-order.ts"
import { branchesIn, marksOf, branchPath, primaryUid } from "./branch-history.ts"
import { mayAct } from "./branch-operators.ts"
import type { Invariant } from "./invariant.ts"

const patience = 500_000

export const unusedBranchesGo: Invariant = {
  id: "L-B2",
  ofBranches: true,
  sentence: "An unused branch is gone in all clusters after its TTL and a grace.",
  begin: (world) => ({
    atRest: (moment) =>
      moment === "healed"
        ? []
        : [...world().clusters.values()].flatMap((cluster) => {
            if (!mayAct(world(), cluster.name)) return []
            return branchesIn(cluster).flatMap((branch) => {
              // A copy that has failed stays longer where its primary is away, whose users are to read why.
              const isKept = marksOf(branch) !== undefined && phaseOfBranch(branch) === "Failed"
              const isOurs = marksOf(branch)?.cluster === primaryUid(world())
              const age = world().now - (timeOf(branch.metadata.creationTimestamp) ?? 0)
              return age < patience || (isKept && (!isOurs || world().primary.host.isGone))
                ? []
                : [`The branch ${branchPath(branch)} in ${cluster.name} is still there: ${phaseOfBranch(branch)}.`]
            })
          })
  })
}
