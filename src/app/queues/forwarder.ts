/**
 * Reads one queue and forwards each message to the session that wants it, or to the main queue of the workload. There
 * is one forwarder for each queue, however many sessions and workloads use it: two would take each other's messages.
 *
 * Not here: one batch (forward-batch.ts), and what sessions leave behind (drain-session.ts).
 */

import { Clock, Deferred, Effect, FiberSet, Result, type Scope } from "effect"
import type { DestinationQueue } from "../../domain/queues/forwarded-message.ts"
import { isReceived } from "../../domain/queues/queue-message.ts"
import { visibilitySeconds } from "../../domain/queues/shared-queue.ts"
import { JqPrograms } from "../../ports/jq-programs.ts"
import { MessageQueues, type QueueError } from "../../ports/message-queues.ts"
import { elapsedOf } from "../kernel/term.ts"
import { untilDone } from "../kernel/until-done.ts"
import {
  endSession,
  forwardBatch,
  type ForwardedBatch,
  type ForwardOptions,
  type SessionEnd,
  type SourceQueue
} from "./forward-batch.ts"
import { sendUntil } from "./move-messages.ts"
import { BackOff, Outlet } from "./outlet.ts"
import { type MessageCounts, newTotals, type QueueTotals } from "./queue-totals.ts"
import { isWithin, type QueueSession, type SplitTable, withSessions } from "./split-table.ts"

/** Messages of one receive, at most (AWS, ReceiveMessage). */
const batchLimit = 10
/** How long a poll waits, in seconds: long enough to be cheap, short enough for the end of the process. */
const pollSeconds = 5
/** How long the credentials may have no right, in ms: they are missing for a moment at times. */
const maxDenial = 30_000
/** Loops of one forwarder, at most. Each holds one batch in memory. */
const maxLoops = 8

/** News for the owner of a forwarder. */
export type ForwarderReport =
  | {
      readonly _tag: "SessionEnded"
      readonly session: bigint
      /** URL of the session's queue. */
      readonly queue: string
      readonly end: SessionEnd
      readonly detail: string
    }
  /** The forwarder has ended, because the original or the main queue is gone, or a right is missing. */
  | { readonly _tag: "SplitFailed"; readonly error: QueueError }

export interface ForwarderOptions {
  readonly source: SourceQueue
  readonly main: DestinationQueue
  /** Goes on from what earlier forwarders of the queue have counted. */
  readonly totals?: QueueTotals
  readonly report: (report: ForwarderReport) => void
}

export interface ForwarderCounts extends Readonly<MessageCounts> {
  readonly forwardedToMain: number
  readonly calls: number
  readonly throttles: number
  readonly sessions: ReadonlyArray<{
    readonly id: bigint
    readonly queue: string
    readonly matched: number
    readonly forwarded: number
  }>
}

export interface Forwarder {
  /**
   * Replaces the sessions, at first none. Completes when no batch is in flight that may go to a session which was taken
   * out. Its queue may then be drained.
   */
  readonly changeSessions: (sessions: ReadonlyArray<QueueSession>) => Effect.Effect<void>
  /** Ends the loops. Completes when polls have ended by themselves, and nothing is in flight. */
  readonly stop: Effect.Effect<void>
  readonly counts: () => ForwarderCounts
  /** The last failures of queues that fail now. */
  readonly problems: () => ReadonlyArray<QueueError>
}

/** A batch from the moment it has a table. */
interface InFlight {
  readonly table: SplitTable
  readonly ended: Deferred.Deferred<void>
}

interface State extends ForwardOptions {
  readonly options: ForwarderOptions
  readonly elapsed: () => number
  /** Pauses of the original. */
  readonly backOff: BackOff
  readonly inFlight: Set<InFlight>
  table: SplitTable
  loops: number
  isStopping: boolean
}

/** The port with each call counted. */
const counted = (queues: MessageQueues["Service"], counts: QueueTotals): MessageQueues["Service"] => {
  const count = <A>(call: Effect.Effect<A, QueueError>): Effect.Effect<A, QueueError> =>
    Effect.suspend(() => {
      counts.calls++
      return Effect.tapError(call, ({ reason }) =>
        Effect.sync(() => {
          if (reason === "Throttled") counts.throttles++
        })
      )
    })
  return {
    ...queues,
    receive: (receive) => count(queues.receive(receive)),
    sendBatch: (url, entries) => count(queues.sendBatch(url, entries)),
    deleteBatch: (url, entries) => count(queues.deleteBatch(url, entries))
  }
}

/** Ends the split: without the original, without main, or without the right to delete it cannot be carried out. */
const fail = (state: State, error: QueueError): void => {
  if (!state.isStopping) state.options.report({ _tag: "SplitFailed", error })
  state.isStopping = true
}

/** Ends the split or a session whose queue nothing can be sent to for want of a right. */
const endDenied = (state: State, { main, sessions }: SplitTable): void => {
  const errorOf = ({ backOff }: Outlet): QueueError | undefined =>
    backOff.deniedFor > maxDenial ? backOff.error : undefined
  const lost = errorOf(main)
  if (lost !== undefined) return fail(state, lost)
  for (const session of sessions) {
    const error = errorOf(session.outlet)
    if (error !== undefined) endSession(state, session, "QueueDenied", error.message)
  }
}

/** Forwards what one receive gave, with the table of this moment. */
const forwardReceived = Effect.fnUntraced(function* (
  state: State,
  messages: ForwardedBatch["messages"],
  until: number
): Effect.fn.Return<void> {
  const { backOff, inFlight, table } = state
  const batch: InFlight = { table, ended: Deferred.makeUnsafe() }
  inFlight.add(batch)
  const end = Effect.suspend(() => {
    inFlight.delete(batch)
    return Deferred.succeed(batch.ended, undefined)
  })
  const result = yield* forwardBatch(state, { messages, table, until }).pipe(Effect.result, Effect.ensuring(end))
  if (table.main.isClosed && table.main.backOff.error !== undefined) fail(state, table.main.backOff.error)
  if (Result.isFailure(result)) {
    const error = result.failure
    if (error.reason === "Denied" || error.reason === "NoQueue") fail(state, error)
    return yield* backOff.failed(error)
  }
  endDenied(state, table)
  const now = state.elapsed()
  const isHeldUp = [table.main, ...table.sessions.map(({ outlet }) => outlet)].some((to) => to.backOff.wait(now) > 0)
  // Without this pause, messages that cannot go on would be received as fast as possible until none is left visible.
  if (messages.length > 0 && result.success.length === 0 && isHeldUp) return yield* backOff.failed(undefined)
  backOff.succeeded()
})

/** One receive and what follows from it. True if it was full, so that there may be more. */
const cycle = Effect.fnUntraced(function* (state: State, more: Effect.Effect<unknown>): Effect.fn.Return<boolean> {
  const { backOff, elapsed, queues, source } = state
  const pause = backOff.wait(elapsed())
  if (pause > 0) yield* Effect.sleep(pause)
  if (state.isStopping) return false
  const askedAt = elapsed()
  const received = yield* Effect.result(
    queues.receive({ url: source.url, max: batchLimit, waitSeconds: pollSeconds, visibilitySeconds })
  )
  if (Result.isFailure(received)) {
    yield* backOff.failed(received.failure)
    if (received.failure.reason === "NoQueue" || backOff.deniedFor > maxDenial) fail(state, received.failure)
    return false
  }
  const isFull = received.success.length === batchLimit
  if (isFull) yield* more
  yield* forwardReceived(state, received.success.filter(isReceived), sendUntil(askedAt))
  return isFull
})

/** Receives until the forwarder stops, or until this loop is not needed beside another. */
const loop = (state: State, more: Effect.Effect<unknown>): Effect.Effect<void> => {
  const run = Effect.gen(function* () {
    while (!state.isStopping) {
      const isFull = yield* cycle(state, more)
      if (!isFull && state.loops > 1) break
    }
    state.loops--
  })
  return untilDone(run, "messages of a queue could not be forwarded")
}

const countsOf = ({ table: { main, sessions } }: State, totals: QueueTotals): ForwarderCounts => ({
  received: totals.received,
  unmatched: totals.unmatched,
  lostCopies: totals.lostCopies,
  calls: totals.calls,
  throttles: totals.throttles,
  forwardedToMain: main.forwarded,
  sessions: sessions.map(({ id, outlet, queue }) => ({
    id,
    queue: queue.url,
    matched: outlet.matched,
    forwarded: outlet.forwarded
  }))
})

/** Starts a forwarder. Its loops end with the scope, in the middle of what they do: call `stop` before. */
export const makeForwarder = Effect.fnUntraced(function* (
  options: ForwarderOptions
): Effect.fn.Return<Forwarder, never, MessageQueues | JqPrograms | Scope.Scope> {
  const { totals = newTotals() } = options
  const state: State = {
    options,
    source: options.source,
    queues: counted(yield* MessageQueues, totals),
    jq: yield* JqPrograms,
    counts: totals,
    sessionEnded: ({ id, queue }, end, detail) =>
      options.report({ _tag: "SessionEnded", session: id, queue: queue.url, end, detail }),
    elapsed: elapsedOf(yield* Clock.Clock),
    backOff: new BackOff(),
    inFlight: new Set(),
    table: { main: new Outlet(options.main), sessions: [] },
    loops: 0,
    isStopping: false
  }
  const fibers = yield* FiberSet.make()
  const more: Effect.Effect<unknown> = Effect.suspend(() => {
    if (state.loops >= maxLoops || state.isStopping) return Effect.void
    state.loops++
    return FiberSet.run(fibers, loop(state, more))
  })
  yield* more
  return {
    changeSessions: (sessions) =>
      Effect.suspend(() => {
        state.table = withSessions(state.table, sessions)
        const late = [...state.inFlight].filter(({ table }) => !isWithin(table, state.table))
        return Effect.forEach(late, ({ ended }) => Deferred.await(ended), { discard: true })
      }),
    stop: Effect.suspend(() => {
      state.isStopping = true
      return FiberSet.awaitEmpty(fibers)
    }),
    counts: () => countsOf(state, totals),
    problems: () =>
      [state.backOff, state.table.main.backOff, ...state.table.sessions.map(({ outlet }) => outlet.backOff)].flatMap(
        ({ error }) => error ?? []
      )
  }
})
