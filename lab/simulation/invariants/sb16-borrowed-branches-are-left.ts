/** S-B16 (failures.md §1.27). */

import { branchHistory, calledBranch, isBranchCall, isOrdering, marksOf, primaryUid } from "./branch-history.ts"
import type { Invariant } from "./invariant.ts"

export const borrowedBranchesAreLeft: Invariant = {
  id: "S-B16",
  ofBranches: true,
  sentence: "A primary changes and deletes in its default cluster only the branches that it has made there.",
  begin: (world) => {
    const history = branchHistory(world)
    return {
      on: (event) => {
        history.take(event)
        if (event._tag !== "Called" || !isBranchCall(event.call)) return undefined
        const { name, operator, subresource, to, verb } = event.call
        if ((verb !== "patch" && verb !== "delete") || to === operator || !isOrdering(world(), operator))
          return undefined
        if (subresource === "status") return `${event.process} writes the status of the branch ${name} in ${to}.`
        const branch = calledBranch(world(), event.call)
        if (branch === undefined || marksOf(branch)?.cluster === primaryUid(world(), operator)) return undefined
        const deed = verb === "patch" ? "changes" : "deletes"
        return `${event.process} ${deed} the branch ${name} in ${to} of somebody else.`
      }
    }
  }
}
