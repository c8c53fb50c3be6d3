/**
 * S-B9 (failures.md §1.21). An order may be under way while its origin is deleted, and a process knows of a deletion
 * only when it has heard of it, which faults delay.
 */

import type { KubeObject } from "../../../src/ports/kube-api.ts"
import { branchHistory, copyReference, isBranchCall, isOrdering, marksOf } from "./branch-history.ts"
import type { Invariant } from "./invariant.ts"

/** How long the news of a deletion may take, ms: with and without faults. */
const newsTakes = { faulty: 400_000, well: 5_000 } as const

export const deletedStaysDeleted: Invariant = {
  id: "S-B9",
  ofBranches: true,
  sentence: "No copy is made of an origin that is known to be deleted, nor a second one of an origin that had one.",
  begin: (world) => {
    const history = branchHistory(world)
    return {
      on: (event) => {
        history.take(event)
        if (event._tag !== "Called" || event.call.verb !== "create" || !isBranchCall(event.call)) return undefined
        const { body, name, operator } = event.call
        const origin = history.records.get(marksOf(body as KubeObject)?.uid ?? "")
        if (origin === undefined || !isOrdering(world(), operator)) return undefined
        const patience = event.at - history.faultAt < newsTakes.faulty ? newsTakes.faulty : newsTakes.well
        if (origin.goneAt !== undefined)
          return event.at - origin.goneAt > patience
            ? `${event.process} makes the branch ${name}, whose origin was deleted long ago.`
            : undefined
        return copyReference(origin.object) !== undefined
          ? `${event.process} makes the branch ${name} once more, whose origin had a copy.`
          : undefined
      }
    }
  }
}
