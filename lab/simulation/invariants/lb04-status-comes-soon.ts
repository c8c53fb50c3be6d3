/** L-B4 (failures.md §2.10). The time is measured where nothing was wrong since the beginning of the story. */

import { phaseOfBranch } from "../world/branch-order.ts"
import {
  branchesIn,
  copyReference,
  isBranch,
  isOrdering,
  marksOf,
  branchPath,
  branchRule,
  statusText
} from "./branch-history.ts"
import { maySync } from "./branch-operators.ts"

/** Longest time from the status of a copy to that of its origin, ms. */
const maxLag = 2_000

export const statusComesSoon = branchRule({
  id: "L-B4",
  sentence: "The status of a copy is that of its origin within two seconds, and at rest.",
  begin: (world, history) => {
    /** By origin: the status that it should have, and since when. */
    const due = new Map<string, { readonly status: string; readonly since: number; readonly name: string }>()
    const overdue = (now: number): string | undefined => {
      for (const [uid, { name, since }] of due) {
        if (history.records.get(uid)?.goneAt !== undefined) due.delete(uid)
        // A sweep lets a call be slow, or refused for a while, without a word.
        else if (now - since > maxLag && world().faultPlans.length === 0)
          return `The origin ${name} has not got the status of its copy after ${maxLag / 1_000} s.`
      }
      return undefined
    }
    return {
      each: (event) => (history.faultAt > 0 ? undefined : overdue(event.at)),
      on: {
        Committed: ({ at, cluster, commit }) => {
          const { after } = commit
          if (history.faultAt > 0 || !isBranch(commit) || after === undefined) return
          const status = statusText(after)
          if (isOrdering(world(), cluster)) {
            const uid = after.metadata.uid ?? ""
            if (due.get(uid)?.status === status) due.delete(uid)
            return
          }
          const origin = history.records.get(marksOf(after)?.uid ?? "")
          if (origin !== undefined && origin.goneAt === undefined && phaseOfBranch(after) !== undefined)
            due.set(origin.uid, { status, since: at, name: branchPath(after) })
        }
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
})
