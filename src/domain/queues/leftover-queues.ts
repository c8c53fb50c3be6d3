/**
 * The steps for temporary queues that nothing uses any more: first nothing sends to them, then what is left in them
 * goes back, then they are deleted, and last their records.
 *
 * Not here: main queues while pods still read them (main-queues.ts).
 */

import { quoted } from "../clean-text.ts"
import { isEmpty, lastCount, nextCountAt } from "./empty-queue.ts"
import { isSentTo, mainQueue } from "./forwarding-steps.ts"
import type { DrainTarget, ObservedSplit, RecordedQueue, WantedSession } from "./observed-split.ts"
import { readsMain } from "./patched-pods.ts"
import type { SplitAction } from "./split-action.ts"
import { isWanted } from "./split-refusal.ts"

/**
 * Milliseconds after which a queue is deleted with what it holds. A message that a program took comes back after at
 * most 12 hours (AWS, VisibilityTimeout).
 */
const maxDrain = 86_400_000

const isUsed = ({ record, sessions }: ObservedSplit, { owner, source }: RecordedQueue): boolean => {
  if (owner._tag === "Main") return owner.split === record?.uid
  const isSource = record?.sources.some(({ identity }) => identity === source.identity) ?? true
  return isSource && sessions.some((session: WantedSession) => session.uid === owner.session && isWanted(session))
}

/** The queues that nothing uses any more, or is to use again. */
export const leftovers = (observed: ObservedSplit): ReadonlyArray<RecordedQueue> =>
  observed.queues.filter((queue) => queue.quietSince !== undefined || !isUsed(observed, queue))

const isSameTarget = (a: DrainTarget, b: DrainTarget): boolean =>
  a._tag === "Main" ? b._tag === "Main" && a.name === b.name : b._tag === "Original"

/** Messages go to the workload, by the queue that it reads now. */
const targetOf = ({ queues, record, workload }: ObservedSplit, { source }: RecordedQueue): DrainTarget => {
  const mayBeRead = workload !== undefined && record?.endsNow !== true
  const isRead = mayBeRead && (record?.phase === "Live" || record?.phase === "Idle")
  const main = record === undefined || !isRead ? undefined : mainQueue(queues, record, source)
  return main?.state._tag === "Present" ? { _tag: "Main", name: main.name } : { _tag: "Original", source }
}

/** Has what is in a queue moved. */
const drainSteps = (observed: ObservedSplit, { name }: RecordedQueue, to: DrainTarget): ReadonlyArray<SplitAction> => {
  const drain = observed.drains.find((one) => one.queue === name)
  if (drain === undefined) return [{ _tag: "DrainQueue", queue: name, to }]
  return isSameTarget(drain.to, to) ? [] : [{ _tag: "StopDrain", queue: name }]
}

/** Copies of messages are of no use to another reader. */
const isCopies = ({ owner }: RecordedQueue): boolean => owner._tag === "Session" && owner.mode === "mirror"

/** Until when other clusters may send to a queue of a session that is over, epoch ms; 0 if none does. */
const sharedUntil = ({ heldUntil }: ObservedSplit, { owner }: RecordedQueue): number =>
  owner._tag === "Session" ? (heldUntil.get(owner.session) ?? 0) : 0

/**
 * Whether the workload has all that a session left in a queue to which other clusters may still send. Counts begin when
 * the split is idle, whose end waits for them.
 */
export const isHandedBack = (observed: ObservedSplit, queue: RecordedQueue, now: number): boolean => {
  const { record } = observed
  const isShared = queue.quietSince === undefined && sharedUntil(observed, queue) > now
  return isShared && (isCopies(queue) || (record?.phase === "Idle" && isEmpty(queue.state, record.since)))
}

const countStep = ({ name, state }: RecordedQueue, since: number, now: number): SplitAction => {
  const at = nextCountAt(state, since)
  return at <= now ? { _tag: "ReadQueue", queue: name } : { _tag: "RequeueAt", at }
}

/** Gives the workload what is in a queue to which other clusters may still send. */
const handBackSteps = (observed: ObservedSplit, queue: RecordedQueue, now: number): ReadonlyArray<SplitAction> => {
  const { record } = observed
  if (queue.state._tag !== "Present" || isCopies(queue)) return []
  // From now on the split may end, which waits until nothing sends to its main queues.
  if (isHandedBack(observed, queue, now)) return drainSteps(observed, queue, { _tag: "Original", source: queue.source })
  const counts = record?.phase === "Idle" ? [countStep(queue, record.since, now)] : []
  return [...drainSteps(observed, queue, targetOf(observed, queue)), ...counts]
}

/** Writes that a queue is quiet, once nothing can send to it and no pod reads it. */
const quietSteps = (observed: ObservedSplit, queue: RecordedQueue, now: number): ReadonlyArray<SplitAction> => {
  const { name, owner } = queue
  const isRead = owner._tag === "Main" && readsMain(observed.pods, owner.split)
  if (isRead || isSentTo(observed, name)) return []
  const shared = sharedUntil(observed, queue)
  const at = Math.max(observed.fencedUntil, shared)
  if (at <= now) return [{ _tag: "QuietQueue", name, at: now }]
  return [...(shared > now ? handBackSteps(observed, queue, now) : []), { _tag: "RequeueAt", at }]
}

const lossOf = ({ name, owner, source }: RecordedQueue, messages: number, why: string): SplitAction => {
  const whose = owner._tag === "Main" ? "the workload" : "a session that has ended"
  return {
    _tag: "Report",
    key: `Lost ${name}`,
    message:
      `${messages} messages of ${quoted(source.name)} for ${whose} are lost with the queue ${quoted(name)}, ` +
      `because they could not be moved back: ${why}`
  }
}

/** Why what is left in a quiet queue stays in it, and since when that is so; `undefined` while it can be moved. */
const giveUp = ({ failures }: ObservedSplit, { name }: RecordedQueue, quietSince: number, now: number) => {
  const failure = failures.get(`DrainQueue ${name}`)
  if (failure?.isLasting === true) return { at: Math.max(failure.at, quietSince), why: failure.message }
  const at = quietSince + maxDrain
  return now < at ? undefined : { at, why: "The queue was not empty after a day." }
}

/** Empties a quiet queue and deletes it. */
const emptySteps = (
  observed: ObservedSplit,
  queue: RecordedQueue,
  quietSince: number,
  now: number
): ReadonlyArray<SplitAction> => {
  const { name, state } = queue
  if (isCopies(queue) || isEmpty(state, quietSince)) return [{ _tag: "DeleteQueue", name }]
  const given = giveUp(observed, queue, quietSince, now)
  if (given !== undefined) {
    // A drain that runs on would make the count wrong.
    if (observed.drains.some((drain) => drain.queue === name)) return [{ _tag: "StopDrain", queue: name }]
    const count = lastCount(state, given.at)
    if (count === undefined) return [{ _tag: "ReadQueue", queue: name }]
    const { messages } = count
    return [...(messages > 0 ? [lossOf(queue, messages, given.why)] : []), { _tag: "DeleteQueue", name }]
  }
  return [...drainSteps(observed, queue, targetOf(observed, queue)), countStep(queue, quietSince, now)]
}

/** The next steps for a queue of {@link leftovers}. */
export const leftoverSteps = (
  observed: ObservedSplit,
  queue: RecordedQueue,
  now: number
): ReadonlyArray<SplitAction> => {
  const { name, quietSince, state } = queue
  if (state._tag === "Unknown") return [{ _tag: "ReadQueue", queue: name }]
  if (state._tag === "Absent") {
    // A process that led before may still be making it.
    const { fencedUntil: at } = observed
    return [at <= now ? { _tag: "ForgetQueue", name } : { _tag: "RequeueAt", at }]
  }
  if (quietSince === undefined) return quietSteps(observed, queue, now)
  const failure = observed.failures.get(`DeleteQueue ${name}`)
  const report: ReadonlyArray<SplitAction> =
    failure?.isLasting === true
      ? [{ _tag: "Report", key: `Undeleted ${name}`, message: `Queue ${quoted(name)} stays: ${failure.message}` }]
      : []
  return [...report, ...emptySteps(observed, queue, quietSince, now)]
}
