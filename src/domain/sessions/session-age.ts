/**
 * Decides when a session ends because it has lasted as long as an installation allows, whether it has a client or not.
 *
 * Not here: the end for want of a client (liveness.ts), and that the client gets no session of the same id afterwards
 * (stopped-sessions.ts).
 */

import { type ObjectMeta, timeOf } from "../resources/object-meta.ts"

/** The latest look at a session's age, ms from now: timers of a process cannot wait for a month. */
const lookEvery = 86_400_000

/** The facts about a session's age. Times are epoch ms. */
export interface ObservedAge {
  readonly metadata: Pick<ObjectMeta, "creationTimestamp">
  /** When this process first saw the session. */
  readonly createdSeenAt: number
  /** When this process began to serve. */
  readonly servedSince: number
  /** The max time of a session, in seconds; `undefined` if none is set. */
  readonly maxSecs: number | undefined
}

/** The end of a session by age. */
export interface EndByAge {
  readonly isReached: boolean
  /** When to look at the session again, epoch ms. */
  readonly at: number
  /** The sentence for the log, the audit and the session's Event. */
  readonly why: string
}

/** The end of a session by age, if there is a longest time. */
export const endByAge = (observed: ObservedAge, now: number): EndByAge | undefined => {
  const { createdSeenAt, maxSecs, metadata, servedSince } = observed
  if (maxSecs === undefined) return undefined
  // A session from before this process is as old as the API server says; clocks of hosts differ by less than it lasts.
  const isOlder = createdSeenAt < servedSince
  const createdAt = isOlder ? (timeOf(metadata.creationTimestamp) ?? createdSeenAt) : createdSeenAt
  const endsAt = createdAt + maxSecs * 1000
  return {
    isReached: now >= endsAt,
    at: Math.min(endsAt, now + lookEvery),
    why: `The session has lasted ${maxSecs} s, the longest time allowed (operator.maxSessionTimeSeconds).`
  }
}
