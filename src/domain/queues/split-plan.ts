/**
 * Decides the next actions for the split of one workload's queues in one cluster.
 *
 * Not here: observing and acting, and what becomes of each message.
 */

import { forwardingSteps, forwardingTables } from "./forwarding-steps.ts"
import { leftoverSteps, leftovers } from "./leftover-queues.ts"
import { drainMains, hasMains, makeMains } from "./main-queues.ts"
import type { ForwardingTable, ObservedSplit, SplitRecord } from "./observed-split.ts"
import { currentOrder, enoughPods, readsMain, restartSteps } from "./patched-pods.ts"
import { sessionSteps } from "./session-steps.ts"
import { actionKey, type SplitAction } from "./split-action.ts"
import { retryAt } from "./split-failure.ts"
import { drainUntil, idleUntil, isLeavingIdle, nextPhase, type SplitState } from "./split-phase.ts"
import { isRefused, isServed, isWanted, restartDeadline, splitRefusal } from "./split-refusal.ts"

/** Milliseconds for which an API server may still put the names into new pods after it took the webhook away. */
const webhookSettles = 10_000
/** Milliseconds that a workload may take at most to empty its main queues if its split ends at once. */
const hurriedDrain = 20_000

/** Begins a split, if a session is there for which it can begin. */
const beginSteps = ({ configuration, sessions, workload }: ObservedSplit, now: number): ReadonlyArray<SplitAction> => {
  if (configuration._tag !== "Known" || workload === undefined || !sessions.some(isWanted)) return []
  const { digest, sources, times } = configuration
  return [{ _tag: "RecordSplit", since: now, digest, sources, times }]
}

/** Gives pods the names of the main queues, which exist, or replaces those that were born without them. */
const patchSteps = ({ active, now, observed, record }: SplitState): ReadonlyArray<SplitAction> => {
  const isStarting = record.phase === "Starting"
  if (isStarting && !(hasMains(observed, record) && active.some(isServed))) return []
  return observed.webhook === "Current" ? restartSteps(observed, record, now) : [{ _tag: "PutWebhook" }]
}

/** Gives pods the original names back. The record goes when no pod has others. */
const unpatchSteps = ({ now, observed, record }: SplitState): ReadonlyArray<SplitAction> => {
  const { precondition, uid } = record
  if (observed.webhook !== "Absent") return [{ _tag: "RemoveWebhook" }]
  const steps = restartSteps(observed, record, now)
  const order = currentOrder(record)
  if (steps.length > 0 || order === undefined || readsMain(observed.pods, uid)) return steps
  const at = order.at + webhookSettles
  return [now < at ? { _tag: "RequeueAt", at } : { _tag: "DeleteRecord", precondition }]
}

/** The times at which the phase passes on by itself. */
const lookAgain = (state: SplitState): ReadonlyArray<SplitAction> => {
  const { observed, record } = state
  const times = {
    Starting: [restartDeadline(record)],
    Live: [],
    Idle: [idleUntil(state), observed.fencedUntil],
    Draining: [drainUntil(state), observed.fencedUntil],
    Unpatching: []
  }[record.phase]
  return times.flatMap((at) => (at === undefined ? [] : [{ _tag: "RequeueAt", at } as const]))
}

/** The steps of a split's phase. Its sessions hear why they end before it changes. */
const phaseSteps = (state: SplitState): ReadonlyArray<SplitAction> => {
  const { now, observed, record, refusal } = state
  const { precondition, restart } = record
  const isUntold = observed.sessions.some(
    (session) => refusal !== undefined && isWanted(session) && isRefused(session, refusal)
  )
  const phase = isUntold ? record.phase : nextPhase(state)
  if (phase !== record.phase) {
    // Later than the last restart, which was for another phase.
    const since = Math.max(now, (restart?.at ?? 0) + 1)
    return [{ _tag: "WriteRecord", change: { phase, since }, precondition }]
  }
  if (record.phase === "Unpatching") return unpatchSteps(state)
  const mains = refusal === undefined && record.phase !== "Draining" ? makeMains(observed, record) : []
  return [...mains, ...(observed.workload === undefined ? [] : patchSteps(state)), ...lookAgain(state)]
}

const tablesOf = (state: SplitState): ReadonlyArray<ForwardingTable> => {
  const { active, observed, record } = state
  const forwards = record.phase === "Live" || (record.phase === "Idle" && !isLeavingIdle(state))
  return forwards && observed.workload !== undefined ? forwardingTables(observed, record, active) : []
}

/** The record with the times that its configuration has now. */
const withTimes = ({ configuration, record }: ObservedSplit): SplitRecord | undefined => {
  if (record === undefined) return undefined
  const isCurrent = configuration._tag === "Known" && configuration.digest === record.digest
  const times = isCurrent ? configuration.times : record.times
  if (record.endsNow !== true) return { ...record, times }
  return { ...record, times: { ...times, drainMillis: Math.min(times.drainMillis ?? hurriedDrain, hurriedDrain) } }
}

/** The plan without actions that failed just now and reports that were made. Last comes the time to look again. */
const paced = (
  { failures, reported }: ObservedSplit,
  steps: ReadonlyArray<SplitAction>,
  now: number
): ReadonlyArray<SplitAction> => {
  const times: Array<number> = []
  const actions = steps.filter((action) => {
    if (action._tag === "RequeueAt") times.push(action.at)
    const failure = failures.get(actionKey(action))
    const at = failure === undefined ? now : retryAt(failure)
    if (at > now) times.push(at)
    return at <= now && action._tag !== "RequeueAt" && !(action._tag === "Report" && reported.has(action.key))
  })
  const future = times.filter((at) => at > now)
  return future.length === 0 ? actions : [...actions, { _tag: "RequeueAt", at: Math.min(...future) }]
}

/**
 * The next actions for a split. Pure, level-triggered and idempotent: it looks only at what is, and when its actions
 * have been carried out, the next plan is empty or a single `RequeueAt`, or the split is a step further.
 *
 * The order of a life: record → records of queues → queues → names into the sessions' statuses → webhook → restart →
 * forwarders → ready → (no session for the TTL) → forwarders stopped → main queues empty → webhook gone → restart →
 * record gone → main queues gone. An action that cannot be taken back follows only from what is observed, never from an
 * action of the same plan.
 */
export const splitPlan = (seen: ObservedSplit, now: number): ReadonlyArray<SplitAction> => {
  const observed = { ...seen, record: withTimes(seen) }
  const { record, sessions, webhook } = observed
  const arePodsReady = record !== undefined && enoughPods(observed, record.uid, record.times.waitForPods)
  const refusal = splitRefusal(observed, arePodsReady, now)
  const active = refusal === undefined ? sessions.filter(isWanted) : []
  const state = record === undefined ? undefined : { observed, record, refusal, active, arePodsReady, now }
  const tables = state === undefined ? [] : tablesOf(state)
  const steps = [
    ...(state === undefined ? beginSteps(observed, now) : phaseSteps(state)),
    // It belongs to no split: its record was deleted by hand.
    ...(state === undefined && webhook !== "Absent" ? [{ _tag: "RemoveWebhook" } as const] : []),
    ...forwardingSteps(observed, tables),
    ...(record === undefined ? [] : drainMains(observed, record, now)),
    ...sessions.flatMap((session) => sessionSteps(observed, refusal, tables, session)),
    ...leftovers(observed).flatMap((queue) => leftoverSteps(observed, queue, now))
  ]
  return paced(observed, steps, now)
}
