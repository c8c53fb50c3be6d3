/**
 * S-B7 (failures.md §1.19). A UID never comes back, so a delete that is right when it is carried out was right when it
 * was sent.
 */

import { phaseOfBranch } from "../world/branch-order.ts"
import type { World } from "../world/world.ts"
import {
  branchHistory,
  calledBranch,
  copyReference,
  isBranchCall,
  isOrdering,
  marksOf,
  preconditionOf
} from "./branch-history.ts"
import type { Invariant } from "./invariant.ts"

const hasObject = (world: World, cluster: string, uid: string): boolean =>
  world.clusters.get(cluster)?.server.objects.has(uid) === true

export const deletesAreCertain: Invariant = {
  id: "S-B7",
  ofBranches: true,
  sentence:
    "Each delete of a branch names its UID; a copy is deleted only when its origin is gone, and an origin that has " +
    "not failed only when its copy is gone.",
  begin: (world) => {
    const history = branchHistory(world)
    return {
      on: (event) => {
        history.take(event)
        if (event._tag !== "Called" || event.call.verb !== "delete" || !isBranchCall(event.call)) return undefined
        const { call, process } = event
        const what = `${process} deletes the branch ${call.name} in ${call.to}`
        if (preconditionOf(call) === undefined) return `${what} without a UID.`
        const branch = calledBranch(world(), call)
        if (branch === undefined || !isOrdering(world(), call.operator)) return undefined
        if (call.to !== call.operator) {
          const origin = marksOf(branch)?.uid
          return origin !== undefined && hasObject(world(), call.operator, origin)
            ? `${what}, whose origin is there.`
            : undefined
        }
        const copy = copyReference(branch)
        if (phaseOfBranch(branch) === "Failed") return undefined
        if (copy === undefined) return `${what}, which has not failed, and of which no copy is known.`
        return hasObject(world(), copy.cluster, copy.uid)
          ? `${what}, whose copy in ${copy.cluster} is there.`
          : undefined
      }
    }
  }
}
