/**
 * The phases of a split, and when each passes over into the next one.
 *
 * Not here: what is done in a phase.
 */

import { isSentTo } from "./forwarding-steps.ts"
import { isHandedBack, leftovers } from "./leftover-queues.ts"
import { areMainsDrained, hasMains } from "./main-queues.ts"
import type { ObservedSplit, SplitPhase, SplitRecord, WantedSession } from "./observed-split.ts"
import type { SplitRefusal } from "./split-refusal.ts"

/** Everything from which the phase is decided. Times are epoch ms. */
export interface SplitState {
  readonly observed: ObservedSplit
  readonly record: SplitRecord
  /** Why no session can be in the split; `undefined` if sessions can. */
  readonly refusal: SplitRefusal | undefined
  /** The sessions that can be in it. */
  readonly active: ReadonlyArray<WantedSession>
  /** Whether as many pods as sessions need have the names of the main queues and are ready. */
  readonly arePodsReady: boolean
  readonly now: number
}

/** When an idle split ends, in epoch ms. */
export const idleUntil = ({ record, refusal }: SplitState): number =>
  refusal === undefined ? record.since + record.times.ttlMillis : record.since

/** When a split stops to wait until its main queues are empty, in epoch ms; `undefined` if it does not. */
export const drainUntil = ({ record: { since, times } }: SplitState): number | undefined =>
  times.drainMillis === undefined ? undefined : since + times.drainMillis

/**
 * Whether an idle split ends. Messages that sessions left behind go to the main queues before: the workload is whole
 * until then, however long that takes. Queues that the operator has no right to count or to delete hold nothing up. A
 * split that ends at once waits for none: these messages go to the original.
 */
export const isLeavingIdle = (state: SplitState): boolean => {
  const { active, now, observed, record } = state
  const isOver = record.phase === "Idle" && active.length === 0 && now >= idleUntil(state)
  const isLeft = leftovers(observed).some((queue) => {
    const { name, owner, source, state } = queue
    const isOurs = record.sources.some(({ identity }) => identity === source.identity)
    const isStuck = ["ReadQueue", "DeleteQueue"].some((key) => observed.failures.get(`${key} ${name}`)?.isLasting)
    const isBack = state._tag === "Absent" || isHandedBack(observed, queue, now)
    return owner._tag === "Session" && isOurs && !isBack && !isStuck
  })
  return isOver && (observed.workload === undefined || record.endsNow === true || !isLeft)
}

/** Whether nothing of this process, or of one that led before, sends to the main queues. */
const isStopped = ({ now, observed, record }: SplitState): boolean =>
  now >= observed.fencedUntil &&
  !observed.queues.some(
    ({ name, owner }) => owner._tag === "Main" && owner.split === record.uid && isSentTo(observed, name)
  )

const isDrained = (state: SplitState): boolean => {
  const { now, observed, record } = state
  const until = drainUntil(state)
  return (
    (until !== undefined && now >= until) || observed.workload === undefined || areMainsDrained(observed, record, now)
  )
}

/** Whether pods with temporary queues are ready for sessions. */
const isStarted = ({ arePodsReady, observed, record }: SplitState): boolean =>
  hasMains(observed, record) && observed.webhook === "Current" && arePodsReady

const withSessions = (state: SplitState): SplitPhase => {
  const { phase } = state.record
  if (phase === "Unpatching") return "Starting"
  return phase === "Starting" && !isStarted(state) ? phase : "Live"
}

const withoutSessions = (state: SplitState): SplitPhase => {
  const { phase } = state.record
  switch (phase) {
    case "Live":
      return "Idle"
    case "Idle":
      return isLeavingIdle(state) && isStopped(state) ? "Draining" : phase
    case "Draining":
      return isStopped(state) && isDrained(state) ? "Unpatching" : phase
    case "Starting":
    case "Unpatching":
      return "Unpatching"
  }
}

/** The phase that a split is to be in; the record's own while it stays. */
export const nextPhase = (state: SplitState): SplitPhase =>
  state.active.length > 0 ? withSessions(state) : withoutSessions(state)
