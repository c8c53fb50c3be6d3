/** S-B14 (failures.md §1.24). Migrations are not run yet. */

import { phaseOfBranch } from "../world/branch-order.ts"
import { branchHistory, isBranch, isOrdering, branchPath } from "./branch-history.ts"
import type { Invariant } from "./invariant.ts"

export const readyBranchesServe: Invariant = {
  id: "S-B14",
  ofBranches: true,
  sentence: "A branch becomes Ready only when its copy is complete and its pod takes connections.",
  begin: (world) => {
    const history = branchHistory(world)
    return {
      on: (event) => {
        history.take(event)
        if (event._tag !== "Committed" || !isBranch(event.commit)) return undefined
        const { after, before } = event.commit
        const isNew = phaseOfBranch(after) === "Ready" && phaseOfBranch(before) !== "Ready"
        if (after === undefined || !isNew || isOrdering(world(), event.cluster)) return undefined
        return history.of(after)?.wasPodReady === true
          ? undefined
          : `The branch ${branchPath(after)} in ${event.cluster} is Ready, and its pod never was.`
      }
    }
  }
}
