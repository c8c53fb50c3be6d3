/**
 * Reads one queue and forwards each message to the session that wants it, or to the main queue of the workload. There
 * is one forwarder for each queue, however many sessions and workloads use it: two would take each other's messages.
 *
 * Not here: what becomes of the messages (forward-batch.ts), and what sessions leave behind (drain-session.ts).
 */

import { Clock, Deferred, Effect, FiberSet, Result, type Scope } from "effect"
import type { DestinationQueue } from "../../domain/queues/forwarded-message.ts"
import type { SessionEnd } from "../../domain/queues/queue-failure-reason.ts"
import { type GivenMessage, isReceived } from "../../domain/queues/queue-message.ts"
import { visibilitySeconds } from "../../domain/queues/shared-queue.ts"
import { JqPrograms } from "../../ports/jq-programs.ts"
import { MessageQueues, type QueueError } from "../../ports/message-queues.ts"
import { StoredObjects } from "../../ports/stored-objects.ts"
import { elapsedOf } from "../kernel/term.ts"
import { untilDone } from "../kernel/until-done.ts"
import type { Brokers } from "./brokers.ts"
import {
  endSession,
  forwardBatch,
  type ForwardedBatch,
  type ForwardOptions,
  type SourceQueue
} from "./forward-batch.ts"
import { sendUntil } from "./move-messages.ts"
import { metadataReader } from "./object-metadata.ts"
import { BackOff, Outlet } from "./outlet.ts"
import { type MessageCounts, newTotals, type QueueTotals } from "./queue-totals.ts"
import { isWithin, type QueueSession, type SplitTable, withSessions } from "./split-table.ts"

/** Messages of one receive, at most (AWS, ReceiveMessage). */
const batchLimit = 10
/** How long a poll waits, in seconds: long enough to be cheap, short enough for the end of the process. */
const pollSeconds = 5
/** How long the credentials may have no right, in ms: they are missing for a moment at times. */
const maxDenial = 30_000
/** Loops of one forwarder, at most. Each holds the messages of `1 + maxFurther` receives in memory. */
const maxLoops = 2
/** Receives after a full one, at most. Their messages go on with its own, in fuller batches and so by fewer calls. */
const maxFurther = 4

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

/** Forwards what was received, with the table of this moment. True if the queues took it well. */
const forwardReceived = Effect.fnUntraced(function* (
  state: State,
  messages: ForwardedBatch["messages"],
  until: number
): Effect.fn.Return<boolean> {
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
    yield* backOff.failed(error)
    return false
  }
  endDenied(state, table)
  const now = state.elapsed()
  const isHeldUp = [table.main, ...table.sessions.map(({ outlet }) => outlet)].some((to) => to.backOff.wait(now) > 0)
  // Without this pause, messages that cannot go on would be received as fast as possible until none is left visible.
  const isStuck = messages.length > 0 && result.success.length === 0 && isHeldUp
  if (isStuck) yield* backOff.failed(undefined)
  return !isStuck
})

/**
 * Waits for messages, and receives as often as `further` says if there were as many as one receive gives. Only the
 * first receive waits, so that no message waits for others.
 */
const receiveSome = Effect.fnUntraced(function* (
  { queues, source: { url } }: State,
  more: Effect.Effect<unknown>,
  further: number
): Effect.fn.Return<ReadonlyArray<Result.Result<ReadonlyArray<GivenMessage>, QueueError>>> {
  const receive = (waitSeconds: number) =>
    Effect.result(queues.receive({ url, max: batchLimit, waitSeconds, visibilitySeconds }))
  const first = yield* receive(pollSeconds)
  if (Result.isFailure(first) || first.success.length < batchLimit) return [first]
  yield* more
  const others = Array.from({ length: further }, () => receive(0))
  return [first, ...(yield* Effect.all(others, { concurrency: "unbounded" }))]
})

/**
 * Receives and forwards. `further`: receives after a full one. Gives how many the next turn may make: twice as many
 * while each gives something; `undefined` if there may be no more messages, or if something failed.
 */
const turn = Effect.fnUntraced(function* (
  state: State,
  more: Effect.Effect<unknown>,
  further: number
): Effect.fn.Return<number | undefined> {
  const { backOff, elapsed } = state
  const pause = backOff.wait(elapsed())
  if (pause > 0) yield* Effect.sleep(pause)
  if (state.isStopping) return undefined
  const askedAt = elapsed()
  const received = yield* receiveSome(state, more, further)
  const given = received.flatMap((one) => (Result.isSuccess(one) ? [one.success] : []))
  const failure = received.find(Result.isFailure)?.failure
  if (failure !== undefined) {
    yield* backOff.failed(failure)
    if (failure.reason === "NoQueue" || backOff.deniedFor > maxDenial) fail(state, failure)
  }
  const isWell =
    given.length === 0 || (yield* forwardReceived(state, given.flat().filter(isReceived), sendUntil(askedAt)))
  if (failure !== undefined || !isWell) return undefined
  backOff.succeeded()
  if (received.length === 1) return undefined
  return given.every(({ length }) => length > 0) ? Math.min(2 * further, maxFurther) : 1
})

/** Receives until the forwarder stops, or until this loop is not needed beside another. */
const loop = (state: State, more: Effect.Effect<unknown>): Effect.Effect<void> => {
  const run = Effect.gen(function* () {
    let further: number | undefined
    while (!state.isStopping) {
      further = yield* turn(state, more, further ?? 1)
      if (further === undefined && state.loops > 1) break
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
): Effect.fn.Return<Forwarder, never, Brokers | Scope.Scope> {
  const { source, totals = newTotals() } = options
  const objects = yield* StoredObjects
  const state: State = {
    options,
    source,
    queues: counted(yield* MessageQueues, totals),
    jq: yield* JqPrograms,
    readMetadata: source.s3Event === true ? metadataReader(objects, { queue: source.url, sns: source.sns }) : undefined,
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
