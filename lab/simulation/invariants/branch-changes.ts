/** Rules about changes of branches of databases (S-B6, S-B14, S-B15; failures.md §1.18, §1.25, §1.26). */

import { asNumber, at } from "../../../src/domain/json.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import { phaseOfBranch } from "../world/branch-order.ts"
import {
  type BranchHistory,
  branchPath,
  type BranchRecord,
  branchRule,
  copyReference,
  isBranch,
  isOrdering,
  migrationsOf,
  statusText
} from "./branch-history.ts"
import type { Invariant } from "./invariant.ts"

/** A branch that is made or changed. */
interface BranchChange {
  readonly before: KubeObject | undefined
  readonly after: KubeObject
  readonly from: string | undefined
  readonly to: string | undefined
  /** Whether it only orders a branch in another cluster. */
  readonly isOrigin: boolean
  readonly own: BranchRecord | undefined
  /** The record of the branch itself; of an origin, that of its copy, if there ever was one. */
  readonly made: BranchRecord | undefined
  /** For sentences: `The branch <path> in <cluster>`. */
  readonly what: string
}

/** `judge` gives the sentence about a change that breaks the rule. */
const aboutChanges = (
  id: string,
  sentence: string,
  begin: (history: BranchHistory) => (change: BranchChange) => string | undefined
): Invariant =>
  branchRule({
    id,
    sentence,
    begin: (world, history) => {
      const judge = begin(history)
      return {
        on: {
          Committed: ({ cluster, commit }) => {
            const { after, before } = commit
            if (after === undefined || !isBranch(commit)) return undefined
            const isOrigin = isOrdering(world(), cluster)
            const own = history.of(after)
            return judge({
              before,
              after,
              from: phaseOfBranch(before),
              to: phaseOfBranch(after),
              isOrigin,
              own,
              made: isOrigin ? history.records.get(copyReference(after)?.uid ?? "") : own,
              what: `The branch ${branchPath(after)} in ${cluster}`
            })
          }
        }
      }
    }
  })

/** Faults after which a new leader reads an old list, and knows no better. */
const oldLists: ReadonlySet<string> = new Set(["stale lists", "call stale"])

/** `Init` and failures may be the primary's own words: of a copy that is not there yet, or cannot be. */
export const statusIsRepeated = aboutChanges(
  "S-B6",
  "The status of an origin is one that its copy had, and never an older one after a newer one.",
  (history) => {
    /** By origin: the copy, and the place of its last status among those of the copy. */
    const places = new Map<string, { readonly copy: string; readonly place: number }>()
    return ({ after, before, isOrigin, made: copy, to }) => {
      const status = statusText(after)
      const isRepeated = isOrigin && before !== undefined && status !== statusText(before)
      if (!isRepeated || to === "Init" || to === "Failed") return undefined
      if (copy === undefined) return `The status of ${branchPath(after)} is of a copy that there never was.`
      const origin = after.metadata.uid ?? ""
      const last = places.get(origin)
      const place = copy.statuses.indexOf(status, last?.copy === copy.uid ? last.place : 0)
      if (place >= 0) {
        places.set(origin, { copy: copy.uid, place })
        return undefined
      }
      const wasThere = copy.statuses.includes(status)
      if (wasThere && history.faults.intersection(oldLists).size > 0) return undefined
      const was = wasThere ? "is older than the one before" : "is none that its copy had"
      return `The status of ${branchPath(after)} ${was}: ${status}.`
    }
  }
)

/** The generation of which a status says that its migrations are done; `undefined` if of none. */
const doneGeneration = (branch: KubeObject | undefined): number | undefined => {
  const migrations = at(branch, "status", "migrations")
  return at(migrations, "phase") === "Succeeded" ? asNumber(at(migrations, "observedGeneration")) : undefined
}

/** Whether migrations have succeeded in a branch, or there are none. */
const areDone = (made: BranchRecord | undefined, migrations: string | undefined): boolean =>
  migrations === undefined || made?.migrated.has(migrations) === true

/** Migrations that a developer adds to a branch that is Ready leave it so; its status says which generation is done. */
export const readyBranchesServe = aboutChanges(
  "S-B14",
  "A branch becomes Ready only when its copy is complete, its pod takes connections and its migrations have " +
    "succeeded, and migrations count as done only after such a run.",
  () =>
    ({ after, before, from, isOrigin, made, own, to, what }) => {
      const done = doneGeneration(after)
      if (done !== undefined && done !== doneGeneration(before) && !areDone(made, own?.migrations.get(done)))
        return `${what} has the migrations of its generation ${done}, and no run of them has succeeded.`
      if (isOrigin || to !== "Ready" || from === "Ready") return undefined
      if (own?.wasPodReady !== true) return `${what} is Ready, and its pod never was.`
      return areDone(own, migrationsOf(after)) ? undefined : `${what} is Ready, and its migrations have not succeeded.`
    }
)

const phases = ["Init", "Pending", "Ready", "Failed"]

export const phasesGoForward = aboutChanges(
  "S-B15",
  "The phase of a branch only goes forward, and from Ready to Failed only if the branch is lost or changed.",
  () =>
    ({ from, made, own, to, what }) => {
      if (from === undefined || from === to) return undefined
      if (phases.indexOf(to ?? "") < phases.indexOf(from)) return `${what} goes back from ${from} to ${to ?? "none"}.`
      return from !== "Ready" || (made ?? own)?.isLost === true
        ? undefined
        : `${what} fails although neither its pod nor its password is lost, and nobody has changed it.`
    }
)
