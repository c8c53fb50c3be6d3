/**
 * Forwards the messages of a few receives together: sends each to its queues, then deletes what was sent. Never the
 * other way round, because a crash in between would lose messages.
 *
 * Not here: receiving (forwarder.ts), and repetitions (move-messages.ts).
 */

import { Array as Arr, Effect } from "effect"
import { groupOf, orderedRounds } from "../../domain/queues/ordered-rounds.ts"
import type { SessionEnd } from "../../domain/queues/queue-failure-reason.ts"
import type { ReceivedMessage } from "../../domain/queues/queue-message.ts"
import { deletableMessages, maxEntries, type QueuedSend, queuedSends } from "../../domain/queues/send-batches.ts"
import type { MessageQueues, QueueError } from "../../ports/message-queues.ts"
import { matchBatch, type MatchOptions, type MatchServices } from "./match-batch.ts"
import { deleteAll, sendAll } from "./move-messages.ts"
import type { Outlet } from "./outlet.ts"
import type { MessageCounts } from "./queue-totals.ts"
import type { SplitTable, TableSession } from "./split-table.ts"

/** The queue that is split. */
export interface SourceQueue extends MatchOptions {
  readonly url: string
  readonly isFifo: boolean
  /** Whether programs see the metadata of the object in S3 that a message is about; `undefined` stands for no. */
  readonly s3Event?: boolean | undefined
}

export interface ForwardOptions extends MatchServices {
  readonly queues: MessageQueues["Service"]
  readonly source: SourceQueue
  readonly counts: MessageCounts
  /** Called once for each session that gets nothing more. Its messages go to the next session or to the main queue. */
  readonly sessionEnded: (session: TableSession, end: SessionEnd, detail: string) => void
}

export interface ForwardedBatch {
  readonly messages: ReadonlyArray<ReceivedMessage>
  readonly table: SplitTable
  /** The moment of the steady clock after which nothing of the batch may be sent. */
  readonly until: number
}

/** A message, the queue that takes it, and the queues that get copies. */
interface Route {
  readonly message: ReceivedMessage
  readonly taker: Outlet
  readonly copies: ReadonlyArray<Outlet>
}

/** Closes what cannot go on, and reports each session once. */
export const endSession = (
  { sessionEnded }: Pick<ForwardOptions, "sessionEnded">,
  session: TableSession,
  end: SessionEnd,
  detail: string
): void => {
  const { outlet } = session
  if (!outlet.isReported) sessionEnded(session, end, detail)
  outlet.isReported = true
  outlet.isClosed = true
}

const routesOf = Effect.fnUntraced(function* (
  options: ForwardOptions,
  { messages, table }: ForwardedBatch
): Effect.fn.Return<ReadonlyArray<Route>> {
  const sessions = table.sessions.filter(({ outlet }) => !outlet.isClosed)
  const choices = yield* matchBatch(options, options.source, { messages, sessions }, (session, detail) =>
    endSession(options, session, "FilterFailed", detail)
  )
  const { counts } = options
  counts.received += messages.length
  return messages.map((message) => {
    const { mirrors = [], taker } = choices.get(message) ?? {}
    const copies = [...new Set(mirrors.map(({ outlet }) => outlet))]
    for (const outlet of taker === undefined ? copies : [taker.outlet, ...copies]) outlet.matched++
    if (taker === undefined && copies.length === 0) counts.unmatched++
    return { message, taker: taker?.outlet ?? table.main, copies }
  })
})

const copyKey = (outlet: Outlet, message: ReceivedMessage): string => `${outlet.queue.url} ${groupOf(message)}`

/**
 * Sends a round to all its queues at the same time. Gives the messages that reached their takers. `lost`: groups by
 * queues of which a copy failed in an earlier round; a later copy would be before it if both messages came again.
 */
const sendRound = Effect.fnUntraced(function* (
  { counts, queues }: ForwardOptions,
  routes: ReadonlyArray<Route>,
  lost: Set<string>,
  until: number
): Effect.fn.Return<ReadonlyArray<ReceivedMessage>> {
  const sendsBy = (outletsOf: (route: Route) => ReadonlyArray<Outlet>) =>
    [...new Set(routes.flatMap(outletsOf))].map((outlet) => {
      const messages = routes.filter((route) => outletsOf(route).includes(outlet)).map(({ message }) => message)
      return { outlet, sends: queuedSends(messages, outlet.queue) }
    })
  const taken = sendsBy(({ taker }) => [taker])
  const copied = sendsBy(({ copies, message }) => copies.filter((outlet) => !lost.has(copyKey(outlet, message))))
  const sent = new Set<QueuedSend>()
  yield* Effect.forEach(
    [...taken, ...copied].flatMap(({ outlet, sends }) =>
      Arr.chunksOf(sends, maxEntries).map((some) => sendAll(queues, outlet, some, until))
    ),
    Effect.map((some) => some.forEach((send) => sent.add(send))),
    { concurrency: "unbounded", discard: true }
  )
  const sends = taken.flatMap((to) => to.sends)
  const reached = deletableMessages(sends, sent)
  counts.lostCopies += routes.flatMap(({ copies }) => copies).length - (sent.size - reached.length)
  for (const { outlet, sends: copies } of copied)
    for (const send of copies) if (!sent.has(send)) lost.add(copyKey(outlet, send.source))
  return reached
})

/**
 * Forwards a batch. Gives the messages that were deleted from the original. Copies for sessions that mirror do not
 * count: they are tried once, because a message that came again for them would reach the workload twice. Fails if the
 * original cannot be split any more.
 */
export const forwardBatch = Effect.fnUntraced(function* (
  options: ForwardOptions,
  batch: ForwardedBatch
): Effect.fn.Return<ReadonlyArray<ReceivedMessage>, QueueError> {
  const { queues, source } = options
  const { table, until } = batch
  const routes = yield* routesOf(options, batch)
  const sent = new Set<ReceivedMessage>()
  const stopped = new Set<string | undefined>()
  const lost = new Set<string>()
  for (const round of orderedRounds(batch.messages, source.isFifo)) {
    const members = new Set(round.filter((message) => !stopped.has(groupOf(message))))
    const live = routes.filter(({ message }) => members.has(message))
    for (const message of yield* sendRound(options, live, lost, until)) sent.add(message)
    if (source.isFifo) for (const message of round) if (!sent.has(message)) stopped.add(groupOf(message))
    for (const session of table.sessions)
      if (session.outlet.isClosed) endSession(options, session, "QueueGone", "the queue of the session does not exist")
  }
  yield* deleteAll(queues, source.url, [...sent])
  return [...sent]
})
