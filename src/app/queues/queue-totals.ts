/**
 * Sums of what was done with the messages of a split's queues, for metrics. They outlive forwarders and sessions, which
 * come and go: a counter never falls.
 */

import type { SessionOwner } from "../../domain/resources/session-shapes.ts"

/** Messages of the original, each counted whenever it comes. */
export interface MessageCounts {
  /** All that were received: those that a session wanted, and {@link unmatched}. */
  received: number
  unmatched: number
  /** Copies for sessions that mirror which could not be sent. */
  lostCopies: number
}

/** The messages of one queue that went to the sessions of one user. Users beyond the bound share one without names. */
export interface UserTotal {
  readonly k8sUser: string
  readonly localUser: string
  forwarded: number
}

export interface QueueTotals extends MessageCounts {
  /** Calls to SQS, and those of them that it refused because there were too many. */
  calls: number
  throttles: number
  readonly users: Map<string, UserTotal>
}

/** Users of one queue that are told apart: each is a series of a metric. */
const maxUsers = 200

export const newTotals = (): QueueTotals => ({
  received: 0,
  unmatched: 0,
  lostCopies: 0,
  calls: 0,
  throttles: 0,
  users: new Map()
})

/** The total of a user, of all sessions together. */
export const userTotal = (
  { users }: QueueTotals,
  { k8sUsername, username }: Pick<SessionOwner, "k8sUsername" | "username">
): UserTotal => {
  const key = JSON.stringify([k8sUsername, username])
  const isKnown = users.has(key) || users.size < maxUsers
  const [at, k8sUser, localUser] = isKnown ? [key, k8sUsername, username] : ["", "", ""]
  const total = users.get(at) ?? { k8sUser, localUser, forwarded: 0 }
  users.set(at, total)
  return total
}

/** The totals of the queues of one split, by their URLs. */
export class SplitTotals {
  readonly #queues = new Map<string, QueueTotals>()

  /** The total of the queue of this URL. */
  of(url: string): QueueTotals {
    const totals = this.#queues.get(url) ?? newTotals()
    this.#queues.set(url, totals)
    return totals
  }

  /** Forgets the queues for which `isLeft` is false. */
  keep(isLeft: (url: string) => boolean): void {
    for (const url of this.#queues.keys()) if (!isLeft(url)) this.#queues.delete(url)
  }

  all(): ReadonlyArray<readonly [url: string, totals: QueueTotals]> {
    return [...this.#queues]
  }
}
