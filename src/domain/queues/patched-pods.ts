/**
 * How far the pods of a workload have the names of a split's main queues, and which pods have to be replaced.
 *
 * Not here: the webhook that gives new pods the names.
 */

import type { ObservedSplit, RecordedRestart, SplitRecord, SplitTimes, WorkloadPod } from "./observed-split.ts"
import type { SplitAction } from "./split-action.ts"

/** Restarts for pods that are born without the names, though the webhook is there: something takes them away. */
const maxAttempts = 3
/**
 * When such pods are replaced again, in epoch ms. The first time soon: an operator that was away for a moment lets a
 * session that begins wait no longer than it may.
 */
const nextRestartAt = ({ at, attempts }: RecordedRestart): number => at + (attempts === 1 ? 20_000 : 60_000)

/** Whether a pod may still read the main queues of a split: until it is gone, also while it is being deleted. */
export const readsMain = (pods: ReadonlyArray<WorkloadPod>, split: string): boolean =>
  pods.some(({ patchedBy }) => patchedBy === split)

/** Whether enough pods have the names and are ready for sessions to start. A workload without pods needs none. */
export const enoughPods = (
  { pods, workload }: ObservedSplit,
  split: string,
  waitForPods: SplitTimes["waitForPods"]
): boolean => {
  const replicas = workload?.replicas ?? 0
  const lasting = pods.filter(({ isTerminating }) => !isTerminating)
  const ready = lasting.filter(({ isReady, patchedBy }) => isReady && patchedBy === split).length
  if (replicas === 0) return true
  return waitForPods === "all" ? ready >= Math.max(replicas, lasting.length) : ready >= Math.min(waitForPods, replicas)
}

export const strayMessage =
  "New pods of the workload keep starting without the names of the temporary queues, and take messages of the " +
  "original queues: look for another webhook that changes its pods."

const isRestarting = ({ phase }: SplitRecord): boolean => phase === "Starting" || phase === "Unpatching"

/** The last order to replace pods, if it was for the phase of the split; `undefined` if the phase needs another. */
export const currentOrder = (record: SplitRecord): RecordedRestart | undefined => {
  const { restart, since } = record
  return restart === undefined || (isRestarting(record) && restart.at < since) ? undefined : restart
}

/** Pods that have names of other queues than the phase wants. */
const misfitsOf = ({ pods }: ObservedSplit, { phase, uid }: SplitRecord): ReadonlyArray<WorkloadPod> =>
  pods.filter(({ isTerminating, patchedBy }) => !isTerminating && (phase === "Unpatching") === (patchedBy === uid))

/** Whether a pod was born after an order. The times of pods are whole seconds, rounded down. */
const isStray = ({ bornAt }: WorkloadPod, { at }: RecordedRestart): boolean => bornAt > at - 1_000

/** Whether restarts are of no more use: all pods read the original queues, whatever is done. */
export const losesNames = (observed: ObservedSplit, record: SplitRecord, now: number): boolean => {
  const { restart, uid } = record
  return (
    restart !== undefined &&
    restart.attempts >= maxAttempts &&
    now >= nextRestartAt(restart) &&
    misfitsOf(observed, record).some((pod) => isStray(pod, restart)) &&
    !readsMain(observed.pods, uid)
  )
}

/**
 * The next steps of replacing pods, when the webhook is as the phase wants it. An order is recorded before it is
 * carried out. Pods that are born after it and do not fit either came while no operator answered the webhook, or lose
 * the names to another webhook: they are replaced again, a few times.
 */
export const restartSteps = (observed: ObservedSplit, record: SplitRecord, now: number): ReadonlyArray<SplitAction> => {
  const { phase, precondition, times, uid } = record
  const misfits = misfitsOf(observed, record)
  const current = currentOrder(record)
  const order = (attempts: number, since = record.since): SplitAction => {
    const restart = { number: (record.restart?.number ?? 0) + 1, at: now, attempts }
    return { _tag: "WriteRecord", change: { since, restart }, precondition }
  }
  if (current === undefined) {
    if (isRestarting(record)) return [order(1, now)]
    return misfits.length === 0 ? [] : [order(1)]
  }
  const { at, attempts, number } = current
  if (misfits.length === 0) {
    return attempts > 1 ? [{ _tag: "WriteRecord", change: { restart: { ...current, attempts: 1 } }, precondition }] : []
  }
  const hasStrays = misfits.some((pod) => isStray(pod, current))
  if (hasStrays && now >= nextRestartAt(current)) {
    return attempts < maxAttempts || phase === "Unpatching"
      ? [order(attempts + 1)]
      : [{ _tag: "Report", key: `Strays ${uid}.${number}`, message: strayMessage }]
  }
  const token = `${uid}.${number}`
  const isOrdered = observed.workload === undefined || observed.workload.restartToken === token
  return [
    ...(isOrdered ? [] : [{ _tag: "RestartWorkload", strategy: times.strategy, token, bornBefore: at } as const]),
    ...(hasStrays ? [{ _tag: "RequeueAt", at: nextRestartAt(current) } as const] : [])
  ]
}
