/**
 * S-B14 (failures.md §1.25). Migrations that somebody adds to a branch that is Ready leave it so; then the status says
 * of which generation they are done.
 */

import { asNumber, at } from "../../../src/domain/json.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import { phaseOfBranch } from "../world/branch-order.ts"
import {
  branchHistory,
  branchPath,
  type BranchRecord,
  copyReference,
  isBranch,
  isOrdering,
  migrationsOf
} from "./branch-history.ts"
import type { Invariant } from "./invariant.ts"

/** The generation of which a status says that its migrations are done; `undefined` if of none. */
const doneGeneration = (branch: KubeObject | undefined): number | undefined => {
  const migrations = at(branch, "status", "migrations")
  return at(migrations, "phase") === "Succeeded" ? asNumber(at(migrations, "observedGeneration")) : undefined
}

export const readyBranchesServe: Invariant = {
  id: "S-B14",
  ofBranches: true,
  sentence:
    "A branch becomes Ready only when its copy is complete, its pod takes connections and its migrations have " +
    "succeeded, and migrations count as done only after such a run.",
  begin: (world) => {
    const history = branchHistory(world)
    /** Whether migrations have succeeded in a branch, or there are none. */
    const areDone = (made: BranchRecord | undefined, migrations: string | undefined): boolean =>
      migrations === undefined || made?.migrated.has(migrations) === true
    return {
      on: (event) => {
        history.take(event)
        if (event._tag !== "Committed" || !isBranch(event.commit)) return undefined
        const { after, before } = event.commit
        if (after === undefined) return undefined
        const what = `The branch ${branchPath(after)} in ${event.cluster}`
        const isOrigin = isOrdering(world(), event.cluster)
        const own = history.of(after)
        const made = isOrigin ? history.records.get(copyReference(after)?.uid ?? "") : own
        const done = doneGeneration(after)
        if (done !== undefined && done !== doneGeneration(before) && !areDone(made, own?.migrations.get(done)))
          return `${what} has the migrations of its generation ${done}, and no run of them has succeeded.`
        const isNew = phaseOfBranch(after) === "Ready" && phaseOfBranch(before) !== "Ready"
        if (!isNew || isOrigin) return undefined
        if (own?.wasPodReady !== true) return `${what} is Ready, and its pod never was.`
        return areDone(own, migrationsOf(after))
          ? undefined
          : `${what} is Ready, and its migrations have not succeeded.`
      }
    }
  }
}
