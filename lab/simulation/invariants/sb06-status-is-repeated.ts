/**
 * S-B6 (failures.md §1.18). `Init` and failures may be the primary's own words: of a copy that is not there yet, or
 * cannot be.
 */

import { phaseOfBranch } from "../world/branch-order.ts"
import { branchHistory, copyReference, isBranch, isOrdering, branchPath, statusText } from "./branch-history.ts"
import type { Invariant } from "./invariant.ts"

export const statusIsRepeated: Invariant = {
  id: "S-B6",
  ofBranches: true,
  sentence: "The status of an origin is one that its copy had, and never an older one after a newer one.",
  begin: (world) => {
    const history = branchHistory(world)
    /** By origin: the copy, and the place of its last status among those of the copy. */
    const places = new Map<string, { readonly copy: string; readonly place: number }>()
    /** A new leader that reads an old list knows no better. */
    let areListsOld = false
    return {
      on: (event) => {
        history.take(event)
        if (event._tag === "Fault") areListsOld ||= ["stale lists", "call stale"].includes(event.kind)
        if (event._tag !== "Committed" || !isBranch(event.commit)) return undefined
        const { after, before } = event.commit
        if (after === undefined || before === undefined || !isOrdering(world(), event.cluster)) return undefined
        const status = statusText(after)
        const phase = phaseOfBranch(after)
        if (status === statusText(before) || phase === "Init" || phase === "Failed") return undefined
        const reference = copyReference(after)
        const copy = history.records.get(reference?.uid ?? "")
        if (copy === undefined) return `The status of ${branchPath(after)} is of a copy that there never was.`
        const key = after.metadata.uid ?? ""
        const last = places.get(key)
        const from = last !== undefined && last.copy === copy.uid ? last.place : 0
        const place = copy.statuses.indexOf(status, from)
        if (place < 0) {
          if (areListsOld && copy.statuses.includes(status)) return undefined
          const was = copy.statuses.includes(status) ? "is older than the one before" : "is none that its copy had"
          return `The status of ${branchPath(after)} ${was}: ${status}.`
        }
        places.set(key, { copy: copy.uid, place })
        return undefined
      }
    }
  }
}
