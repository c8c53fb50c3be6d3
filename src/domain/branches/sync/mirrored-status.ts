/**
 * The status of an origin, which repeats that of its copy as a whole, so that sessions that have ended vanish from it.
 * It never goes back, and numbers of generations are the origin's own.
 *
 * Not here: the status of a branch that cannot be copied (origin-plan.ts).
 */

import { asNumber, asObjects, at, isObject, type JsonObject, omit } from "../../json.ts"
import { timestamp } from "../../resources/object-meta.ts"
import { type CopyReference, originOf, phaseOf, plain, type SyncedBranch } from "./synced-branch.ts"

/** How long a branch may take that its cluster says nothing of; for people, since the default cluster decides. */
const maxWait = 1_800_000

const phases = ["Init", "Pending", "Ready", "Failed"]
const stepOf = (branch: Pick<SyncedBranch, "status">): number => phases.indexOf(phaseOf(branch) ?? "")

const notFromHere =
  "The branch belongs to somebody else, who has it in the default cluster: migrations are not run in it from here."

/** The outcome of the migrations that the origin's spec asks for, by the origin's generations. */
const migrationsOf = (origin: SyncedBranch, copy: SyncedBranch, { borrowed }: CopyReference): unknown => {
  const last = at(origin.status, "migrations") ?? undefined
  if (borrowed === true) {
    const isAsked = isObject(at(origin.spec, "migrations"))
    const observedGeneration = origin.metadata.generation ?? 0
    return isAsked ? { observedGeneration, phase: "Failed", error: notFromHere } : last
  }
  const found = at(copy.status, "migrations")
  const generation = originOf(copy)?.generation
  const isCurrent = at(found, "observedGeneration") === copy.metadata.generation
  if (!isObject(found) || generation === undefined || !isCurrent) return last
  const isOlder = generation < (asNumber(at(last, "observedGeneration")) ?? 0)
  return isOlder ? last : { ...found, observedGeneration: generation }
}

/** The status that an origin has next. `reference`: the copy's place. `now`: epoch ms. */
export const mirroredStatus = (
  origin: SyncedBranch,
  copy: SyncedBranch,
  reference: CopyReference,
  now: number
): JsonObject => {
  const before = plain(origin.status)
  if (stepOf(copy) < 0) {
    const expireTime = before["expireTime"] ?? timestamp(now + maxWait)
    return stepOf(origin) > 0 ? before : { phase: "Init", expireTime, copy: reference }
  }
  // A list may be older than what was seen before it.
  if (stepOf(copy) < stepOf(origin)) return before
  const { conditions, migrations: _, observedGeneration: __, ...found } = plain(copy.status)
  const migrations = migrationsOf(origin, copy, reference)
  return plain({
    ...found,
    conditions: conditions && asObjects(conditions).map((condition) => omit(condition, "observedGeneration")),
    migrations,
    copy: reference
  })
}
