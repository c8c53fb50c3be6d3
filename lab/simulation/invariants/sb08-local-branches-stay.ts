/** S-B8 (failures.md §1.20). */

import type { KubeObject } from "../../../src/ports/kube-api.ts"
import { skipSyncLabel } from "../world/branch-order.ts"
import { branchHistory, isBranchCall, isOrdering, marksOf } from "./branch-history.ts"
import type { Invariant } from "./invariant.ts"

export const localBranchesStay: Invariant = {
  id: "S-B8",
  ofBranches: true,
  sentence: "No branch that is for the primary's own cluster alone is copied.",
  begin: (world) => {
    const history = branchHistory(world)
    return {
      on: (event) => {
        history.take(event)
        if (event._tag !== "Called" || event.call.verb !== "create" || !isBranchCall(event.call)) return undefined
        const { body, name, operator } = event.call
        if (!isOrdering(world(), operator)) return undefined
        const origin = history.records.get(marksOf(body as KubeObject)?.uid ?? "")
        return origin?.object.metadata.labels?.[skipSyncLabel] === "true"
          ? `${event.process} copies the branch ${name}, which has the label ${skipSyncLabel}.`
          : undefined
      }
    }
  }
}
