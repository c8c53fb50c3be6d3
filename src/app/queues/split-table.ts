/**
 * The sessions among which one batch of messages is divided. A table never changes: a batch keeps the one with which it
 * began, and the next batch has the new one.
 *
 * Not here: the choice (domain/queues/chosen-session.ts).
 */

import type { SplitSession } from "../../domain/queues/chosen-session.ts"
import type { DestinationQueue } from "../../domain/queues/forwarded-message.ts"
import type { MessageFilter } from "../../domain/queues/message-filter.ts"
import { Outlet } from "./outlet.ts"
import type { UserTotal } from "./queue-totals.ts"

/** A session that wants messages of one queue. */
export interface QueueSession extends SplitSession {
  readonly filter: MessageFilter
  /** The session's own queue. */
  readonly queue: DestinationQueue
  /** Counts the messages that are sent there. */
  readonly total?: UserTotal
}

export interface TableSession extends QueueSession {
  readonly outlet: Outlet
}

export interface SplitTable {
  readonly main: Outlet
  readonly sessions: ReadonlyArray<TableSession>
}

const isSame = (a: QueueSession, b: QueueSession): boolean => a.id === b.id && a.queue.url === b.queue.url

/** Whether the other table has all sessions of this table. */
export const isWithin = (table: SplitTable, other: SplitTable): boolean =>
  table.sessions.every((session) => other.sessions.some((next) => isSame(session, next)))

/**
 * The table with other sessions. Those that stay keep their counts and their pauses. A session that has several filters
 * for the queue is there once for each, with one outlet.
 */
export const withSessions = ({ main, sessions }: SplitTable, next: ReadonlyArray<QueueSession>): SplitTable => {
  const made: Array<TableSession> = []
  for (const session of next) {
    const known = [...sessions, ...made].find((one) => isSame(one, session))
    made.push({ ...session, outlet: known?.outlet ?? new Outlet(session.queue, session.total) })
  }
  return { main, sessions: made }
}
