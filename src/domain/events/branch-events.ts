/**
 * Which Event a change of a branch's status is worth, for `kubectl describe`.
 *
 * Not here: writing Events (app/kernel/event-recorder.ts).
 */

import { quotation } from "../clean-text.ts"
import { jsonEqual } from "../json.ts"
import type { BranchDatabase } from "../resources/branches/branch-database.ts"
import type { SessionEvent } from "./event-catalogue.ts"

const ofTarget = ({ spec: { target } }: BranchDatabase): string => `${target.kind} ${quotation(target.name)}`

/** The Event for the end of migrations in a branch that stays as it is. */
const migrationEvents = (before: BranchDatabase, after: BranchDatabase): ReadonlyArray<SessionEvent> => {
  const [old, migrations] = [before.status?.migrations, after.status?.migrations ?? undefined]
  if (migrations === undefined || jsonEqual(old ?? undefined, migrations)) return []
  switch (migrations.phase) {
    case "Running":
      return []
    case "Succeeded":
      return [{ reason: "BranchMigrated", message: "The migrations of the branch have succeeded." }]
    case "Failed":
      return [{ reason: "MigrationsFailed", message: `${quotation(migrations.error ?? "")}. The branch stays.` }]
  }
}

/** The Events between two versions of a branch: at most one for its phase, and else one for its migrations. */
export const branchEvents = (before: BranchDatabase, after: BranchDatabase): ReadonlyArray<SessionEvent> => {
  const phase = after.status?.phase
  if (phase === undefined || phase === before.status?.phase) return migrationEvents(before, after)
  switch (phase) {
    case "Init":
      return []
    case "Pending":
      return [{ reason: "Building", message: `A branch of the database of ${ofTarget(after)} is being made.` }]
    case "Ready":
      return [{ reason: "BranchReady", message: `The branch is ready, in pod ${after.status?.podName ?? "unknown"}.` }]
    case "Failed":
      return [
        {
          reason: "BranchFailed",
          message: `${quotation(after.status?.error ?? "")}. The branch is deleted soon, and can be made again then.`
        }
      ]
  }
}

/** A branch cannot be made yet. `why`: a clause. */
export const branchWaitsEvent = (why: string): SessionEvent => ({
  reason: "BranchWaits",
  message: `The branch waits: ${quotation(why)}.`
})

/** The operator deletes a branch that no session uses. */
export const branchExpiredEvent: SessionEvent = {
  reason: "BranchExpired",
  message: "No session has used the branch for its time, and it is deleted with its data."
}
