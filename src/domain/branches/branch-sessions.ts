/**
 * Which sessions use a branch now: those that this process knows of, and for a while those that the status names and
 * that may return to a new process.
 *
 * Not here: what follows for the branch's life (branch-plan.ts).
 */

import type { BranchStatus } from "../resources/branches/branch-shapes.ts"
import { leaderGrace } from "../sessions/liveness.ts"

export type BranchSessions = NonNullable<BranchStatus["sessionInfo"]>

/** The uses of a branch that a process knows. Times are epoch ms. */
export interface KnownUses {
  /** When the process first saw the branch. */
  readonly since: number
  readonly uses: BranchSessions
  /** Sessions that have ended, although the status may name them still. */
  readonly released: ReadonlySet<string>
}

/** The sessions of an earlier process that may return: no leader knows whether they have ended meanwhile. */
const returning = ({ released, uses }: KnownUses, stored: BranchSessions): BranchSessions =>
  Object.fromEntries(Object.entries(stored).filter(([id]) => !released.has(id) && !Object.hasOwn(uses, id)))

export const sessionsNow = (known: KnownUses, stored: BranchSessions, now: number): BranchSessions =>
  now < known.since + leaderGrace ? { ...returning(known, stored), ...known.uses } : known.uses

/** When the sessions change by time alone; `undefined` if they do not. */
export const sessionsChangeAt = (known: KnownUses, stored: BranchSessions, now: number): number | undefined => {
  const end = known.since + leaderGrace
  return now < end && Object.keys(returning(known, stored)).length > 0 ? end : undefined
}
