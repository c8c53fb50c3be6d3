/** L-B4 (failures.md §2.10). The time is measured where nothing was wrong since the beginning of the story. */

import { phaseOfBranch } from "../world/branch-order.ts"
import {
  branchesIn,
  branchHistory,
  copyReference,
  isBranch,
  isOrdering,
  marksOf,
  branchPath,
  statusText
} from "./branch-history.ts"
import { maySync } from "./branch-operators.ts"
import type { Invariant } from "./invariant.ts"

/** Longest time from the status of a copy to that of its origin, ms. */
const maxLag = 2_000

export const statusComesSoon: Invariant = {
  id: "L-B4",
  ofBranches: true,
  sentence: "The status of a copy is that of its origin within two seconds, and at rest.",
  begin: (world) => {
    const history = branchHistory(world)
    /** By origin: the status that it should have, and since when. */
    const due = new Map<string, { readonly status: string; readonly since: number; readonly name: string }>()
    return {
      on: (event) => {
        history.take(event)
        if (history.faultAt > 0) return undefined
        for (const [uid, { name, since }] of due) {
          if (history.records.get(uid)?.goneAt !== undefined) due.delete(uid)
          // A sweep lets a call be slow, or refused for a while, without a word.
          else if (event.at - since > maxLag && world().faultPlans.length === 0)
            return `The origin ${name} has not got the status of its copy after ${maxLag / 1_000} s.`
        }
        if (event._tag !== "Committed" || !isBranch(event.commit)) return undefined
        const { after } = event.commit
        if (after === undefined) return undefined
        if (isOrdering(world(), event.cluster)) {
          const uid = after.metadata.uid ?? ""
          if (due.get(uid)?.status === statusText(after)) due.delete(uid)
          return undefined
        }
        const origin = marksOf(after)?.uid
        const isKnown = origin !== undefined && history.records.get(origin)?.goneAt === undefined
        if (isKnown && history.records.has(origin) && phaseOfBranch(after) !== undefined)
          due.set(origin, { status: statusText(after), since: event.at, name: branchPath(after) })
        return undefined
      },
      atRest: () =>
        maySync(world())
          ? branchesIn(world().primary).flatMap((origin) => {
              const reference = copyReference(origin)
              const copies = [...world().clusters.values()].flatMap(branchesIn)
              const copy = copies.find(({ metadata }) => metadata.uid === reference?.uid)
              const isSame = copy === undefined || statusText(copy) === statusText(origin)
              // A branch in use gets another time to expire now and then, also a moment before the rest.
              const isNew = world().now - (history.of(copy)?.statusAt ?? 0) <= maxLag
              return isSame || isNew || phaseOfBranch(origin) === "Failed"
                ? []
                : [`The status of the origin ${branchPath(origin)} is not that of its copy.`]
            })
          : []
    }
  }
}
