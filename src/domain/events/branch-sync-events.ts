/**
 * Which Event a change of an origin's status is worth, in the cluster of a primary whose default cluster is another
 * one.
 *
 * Not here: Events of the cluster that makes the branch (branch-events.ts).
 */

import { copyOf, phaseOf, type SyncedBranch } from "../branches/sync/synced-branch.ts"
import { quotation } from "../clean-text.ts"
import { asString } from "../json.ts"
import type { SessionEvent } from "./event-catalogue.ts"

const placeEvents = (before: SyncedBranch, after: SyncedBranch): ReadonlyArray<SessionEvent> => {
  const copy = copyOf(after)
  if (copy === undefined || copyOf(before) !== undefined) return []
  const { borrowed, cluster, namespace } = copy
  return borrowed === true
    ? [
        {
          reason: "BranchBorrowed",
          message: `Cluster ${cluster} has a branch of this name in namespace ${namespace}, which is used.`,
          cluster
        }
      ]
    : [
        {
          reason: "BranchCopied",
          message: `The branch is made in cluster ${cluster}, namespace ${namespace}.`,
          cluster
        }
      ]
}

const phaseEvents = (before: SyncedBranch, after: SyncedBranch): ReadonlyArray<SessionEvent> => {
  const phase = phaseOf(after)
  if (phase === phaseOf(before)) return []
  const cluster = copyOf(after)?.cluster
  if (phase === "Ready" && cluster !== undefined)
    return [{ reason: "BranchReady", message: `The branch is ready, in cluster ${cluster}.`, cluster }]
  if (phase !== "Failed") return []
  const error = quotation(asString(after.status?.["error"]) ?? "")
  return [{ reason: "BranchFailed", message: `${error}. The branch is deleted soon, and can be made again then.` }]
}

/** The Events between two versions of an origin. */
export const branchSyncEvents = (before: SyncedBranch, after: SyncedBranch): ReadonlyArray<SessionEvent> => [
  ...placeEvents(before, after),
  ...phaseEvents(before, after)
]

/** A branch cannot be made now. `why`: a clause. */
export const orderWaitsEvent = (why: string): SessionEvent => ({
  reason: "BranchWaits",
  message: `The branch waits for the default cluster: ${quotation(why)}.`
})
