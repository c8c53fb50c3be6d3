/**
 * Whether a queue is empty. Counts of SQS are approximate, and those of one moment may all be 0 while messages are on
 * their way (AWS, "Confirming that a queue is empty").
 */

import type { QueueCount, QueueState } from "./observed-split.ts"

/** Milliseconds between two counts that confirm each other. */
const countEvery = 20_000
const neededCounts = 3

/** Messages in a queue as its attributes count them, hidden and delayed messages with them. */
export const messagesIn = (attributes: Readonly<Record<string, string>>): number =>
  ["", "NotVisible", "Delayed"]
    .map((kind) => Number(attributes[`ApproximateNumberOfMessages${kind}`] ?? 0))
    .reduce((sum, count) => sum + count)

const countsSince = (state: QueueState, since: number): ReadonlyArray<QueueCount> =>
  state._tag === "Present" ? state.counts.filter(({ at }) => at >= since) : []

/** The last count since a time; `undefined` if there is none. */
export const lastCount = (state: QueueState, since: number): QueueCount | undefined => countsSince(state, since).at(-1)

/** When a queue is to be counted next, if it was counted since a time. */
export const nextCountAt = (state: QueueState, since: number): number =>
  (lastCount(state, since)?.at ?? since - countEvery) + countEvery

/** Whether the last counts since a time say that a queue is empty. A queue that does not exist is. */
export const isEmpty = (state: QueueState, since: number): boolean => {
  if (state._tag === "Absent") return true
  let [zeros, last] = [0, since - countEvery]
  for (const { at, messages } of countsSince(state, since)) {
    if (messages > 0) [zeros, last] = [0, at - countEvery]
    else if (at >= last + countEvery) [zeros, last] = [zeros + 1, at]
  }
  return zeros >= neededCounts
}
