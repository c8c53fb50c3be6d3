/**
 * Deletes the children of a parent that ended or failed, and says which of them are still there.
 *
 * Not here: when a child that cannot be deleted becomes a debt (session-plan.ts).
 */

import type { ClusterName } from "../fleet/cluster-name.ts"
import type { ChildObservation } from "./child-observation.ts"
import { childOwner } from "./child-owner.ts"
import { refusedRetry } from "./cluster-verdict.ts"
import type { ObservedSession } from "./observed-session.ts"
import type { ParentView } from "./parent-view.ts"
import type { SessionAction } from "./session-action.ts"

/** Milliseconds for which deleting a child is tried before it becomes a debt. */
export const debtGrace = 60_000

/** How far the deletion of a parent's children is. */
export interface Cleanup {
  readonly actions: ReadonlyArray<SessionAction>
  /** Children that are neither known to be gone nor owed. */
  readonly open: ReadonlyArray<{ readonly cluster: ClusterName; readonly childName: string }>
}

const isGone = (child: ChildObservation | undefined, parent: ParentView): boolean => {
  switch (child?._tag) {
    case "Absent":
      return child.confirmed
    case "Present":
      return childOwner(child, parent) === "Other"
    case "Refused":
      // The last create was refused, but an earlier create may have succeeded unseen. Only the answer to a DELETE
      // settles it.
      return false
    case "Unknown":
    case undefined:
      return false
  }
}

/**
 * Deletes exactly the children that the status names. Nothing is deleted by its prefix, which another parent's children
 * may share (failures.md §4.14). A child in a cluster that cannot be reached waits without delaying the others. An
 * answer of the API server is enough: a cluster whose operator is gone still deletes.
 */
export const cleanUpChildren = (observed: ObservedSession, parent: ParentView): Cleanup => {
  const open = [...parent.recorded].flatMap(([cluster, { sessionName }]) =>
    observed.debts.has(sessionName) || isGone(observed.children.get(cluster), parent)
      ? []
      : [{ cluster, childName: sessionName }]
  )
  const actions = open.flatMap(({ cluster, childName }): ReadonlyArray<SessionAction> => {
    const child = observed.children.get(cluster)
    const reach = observed.fleet.clusters.get(cluster)
    if (reach === undefined || (!reach.reachable && (child === undefined || child._tag === "Unknown"))) return []
    if (child?._tag === "Present" && child.deleting) return []
    return [{ _tag: "DeleteChild", cluster, childName, uid: child?._tag === "Present" ? child.uid : undefined }]
  })
  return { actions, open }
}

/** Milliseconds until children that could not be deleted are looked at again. */
export const cleanupRetry = refusedRetry
