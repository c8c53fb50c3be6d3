/**
 * The steps for the main queues of a split: made when it starts, emptied by the workload when it ends.
 *
 * Not here: what is left of a main queue that no pod reads any more (leftover-queues.ts).
 */

import { isEmpty, nextCountAt } from "./empty-queue.ts"
import { mainQueue } from "./forwarding-steps.ts"
import type { ObservedSplit, RecordedQueue, SplitRecord, SplitSource } from "./observed-split.ts"
import { losesNames } from "./patched-pods.ts"
import { isFifoName } from "./queue-name.ts"
import type { SplitAction } from "./split-action.ts"

const mainsOf = ({ queues }: ObservedSplit, record: SplitRecord): ReadonlyArray<RecordedQueue> =>
  record.sources.flatMap((source) => mainQueue(queues, record, source) ?? [])

/** Whether each queue of the workload has its main queue. */
export const hasMains = (observed: ObservedSplit, record: SplitRecord): boolean => {
  const mains = mainsOf(observed, record)
  return mains.length === record.sources.length && mains.every(({ state }) => state._tag === "Present")
}

const mainStep = (
  { queueName, queues }: ObservedSplit,
  record: SplitRecord,
  source: SplitSource
): SplitAction | undefined => {
  const main = mainQueue(queues, record, source)
  if (main === undefined) {
    const name = queueName(source, "main", `${record.uid}/${source.identity}`)
    const owner = { _tag: "Main", split: record.uid } as const
    return name._tag === "Success" ? { _tag: "RecordQueue", name: name.success, source, owner } : undefined
  }
  if (main.state._tag === "Absent") return { _tag: "CreateQueue", name: main.name }
  return main.state._tag === "Unknown" ? { _tag: "ReadQueue", queue: main.name } : undefined
}

/** Records and makes the main queues. Lost ones are made again, under the names that the pods have. */
export const makeMains = (observed: ObservedSplit, record: SplitRecord): ReadonlyArray<SplitAction> =>
  record.sources.flatMap((source) => mainStep(observed, record, source) ?? [])

/**
 * Whether all main queues are empty since the phase began, or nothing can empty them. Those that cannot be counted must
 * not keep the workload from its original queues either.
 */
export const areMainsDrained = (observed: ObservedSplit, record: SplitRecord, now: number): boolean => {
  const isLost = losesNames(observed, record, now)
  const lasts = (action: string, name: string) => observed.failures.get(`${action} ${name}`)?.isLasting === true
  return mainsOf(observed, record).every(
    ({ name, state }) =>
      isEmpty(state, record.since) || lasts("ReadQueue", name) || (isLost && lasts("DrainQueue", name))
  )
}

/**
 * Whether messages of a main queue go back to the original, because no pod will read them. Those of a FIFO queue wait
 * for pods: they would come behind newer ones, which no pod has read either.
 */
const goesBack = (
  { failures, pods }: ObservedSplit,
  { phase }: SplitRecord,
  { name, source }: RecordedQueue,
  isLost: boolean
): boolean =>
  phase === "Draining" &&
  (isLost || (pods.length === 0 && !isFifoName(source.name))) &&
  failures.get(`DrainQueue ${name}`)?.isLasting !== true

/** Counts the main queues while they are drained, and empties those that no pod would. */
export const drainMains = (observed: ObservedSplit, record: SplitRecord, now: number): ReadonlyArray<SplitAction> => {
  const isLost = losesNames(observed, record, now)
  return mainsOf(observed, record).flatMap((main): ReadonlyArray<SplitAction> => {
    const { name: queue, source, state } = main
    const isDrained = observed.drains.some((drain) => drain.queue === queue)
    const isBack = goesBack(observed, record, main, isLost)
    if (!isBack && isDrained) return [{ _tag: "StopDrain", queue }]
    if (record.phase !== "Draining" || state._tag === "Absent") return []
    const countAt = nextCountAt(state, record.since)
    return [
      ...(isBack && !isDrained && state._tag === "Present"
        ? [{ _tag: "DrainQueue", queue, to: { _tag: "Original", source } } as const]
        : []),
      state._tag === "Unknown" || countAt <= now ? { _tag: "ReadQueue", queue } : { _tag: "RequeueAt", at: countAt }
    ]
  })
}
