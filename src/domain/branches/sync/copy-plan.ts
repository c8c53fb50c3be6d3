/**
 * Decides about one branch in the default cluster whether it is a copy without origin, which is deleted.
 *
 * Not here: everything about a copy whose origin is there (origin-plan.ts).
 */

import { isObject } from "../../json.ts"
import type { MirrorOwner } from "../../resources/mirrored-object.ts"
import { type Precondition, preconditionOf } from "../../resources/object-meta.ts"
import { originOf, type OriginMarks, type SyncedBranch } from "./synced-branch.ts"

/** Everything from which the fate of a branch in the default cluster follows. */
export interface ObservedCopy {
  readonly copy: SyncedBranch
  readonly owner: MirrorOwner
  /** Whether a complete list of the origins is known; before it, no origin counts as gone. */
  readonly areOriginsComplete: boolean
  /** This process has seen the origin, so it was deleted meanwhile. */
  readonly wasOriginSeen: boolean
  /** Another origin waits for the name. */
  readonly isNameWanted: boolean
}

/** Delete the copy, whose origin is gone. */
export interface DeleteCopy {
  readonly _tag: "DeleteCopy"
  readonly marks: OriginMarks
  /** The copy as it was judged: a session may begin to use it meanwhile. */
  readonly precondition: Precondition
}

const isUsed = ({ status }: SyncedBranch): boolean => {
  const sessions = status?.["sessionInfo"]
  return isObject(sessions) && Object.keys(sessions).length > 0
}

/**
 * The next actions for a branch in the default cluster. A person's delete wins over sessions that use the branch. An
 * origin that was never seen may be missing because the primary was restored from a backup; a copy that is used is then
 * left to its TTL.
 */
export const planCopy = (observed: ObservedCopy): ReadonlyArray<DeleteCopy> => {
  const { areOriginsComplete, copy, isNameWanted, owner, wasOriginSeen } = observed
  const marks = originOf(copy)
  if (marks === undefined || owner !== "Earlier" || !areOriginsComplete) return []
  return wasOriginSeen || isNameWanted || !isUsed(copy)
    ? [{ _tag: "DeleteCopy", marks, precondition: preconditionOf(copy.metadata) }]
    : []
}
