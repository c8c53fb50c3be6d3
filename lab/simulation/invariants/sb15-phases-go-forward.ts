/** S-B15 (failures.md §1.26). */

import { phaseOfBranch } from "../world/branch-order.ts"
import { branchHistory, copyReference, isBranch, isOrdering, branchPath } from "./branch-history.ts"
import type { Invariant } from "./invariant.ts"

const phases = ["Init", "Pending", "Ready", "Failed"]

export const phasesGoForward: Invariant = {
  id: "S-B15",
  ofBranches: true,
  sentence: "The phase of a branch only goes forward, and from Ready to Failed only if the branch is lost or changed.",
  begin: (world) => {
    const history = branchHistory(world)
    return {
      on: (event) => {
        history.take(event)
        if (event._tag !== "Committed" || !isBranch(event.commit)) return undefined
        const { after, before } = event.commit
        const [from, to] = [phaseOfBranch(before), phaseOfBranch(after)]
        if (after === undefined || before === undefined || from === undefined || from === to) return undefined
        const what = `The branch ${branchPath(after)} in ${event.cluster}`
        if (phases.indexOf(to ?? "") < phases.indexOf(from)) return `${what} goes back from ${from} to ${to ?? "none"}.`
        if (from !== "Ready") return undefined
        const made = isOrdering(world(), event.cluster)
          ? history.records.get(copyReference(after)?.uid ?? "")
          : undefined
        return (made ?? history.of(after))?.isLost === true
          ? undefined
          : `${what} fails although neither its pod nor its password is lost, and nobody has changed it.`
      }
    }
  }
}
