/**
 * Writes Kubernetes Events about sessions and branches: counts, spaces and bounds them. domain/events decides what is
 * worth an Event; no session depends on an Event.
 */

import { Clock, Context, Effect, FiberSet, Latch, Result, type Scope } from "effect"
import { withoutEnd } from "../../domain/clean-text.ts"
import type { SessionEvent } from "../../domain/events/event-catalogue.ts"
import { namespaceOfEvents, eventObject, eventRepeated, events } from "../../domain/events/event-object.ts"
import {
  dueAt,
  type EventSeries,
  occurred,
  seriesKey,
  wasRefused,
  wasWritten,
  type WriteProblem
} from "../../domain/events/event-series.ts"
import type { ObjectMeta } from "../../domain/resources/object-meta.ts"
import { apiVersionOf, type ResourceDescriptor } from "../../domain/resources/resource-descriptor.ts"
import type { KubeApi, KubeError, KubeObject } from "../../ports/kube-api.ts"
import { countHolding } from "./holdings.ts"
import { LogOnce } from "./log-once.ts"
import { logWarning } from "./log.ts"
import { readCached } from "./read-cached.ts"

/** How many series may wait to be written; further new series are dropped. */
const maxWaiting = 1_000
/** How many series are remembered, so that a repeated event is counted instead of created again. */
const maxRemembered = 2_000
/** Pause after a failed write, in ms, unless the server asks for more. */
const afterFailure = 2_000
/** How long an orderly stop waits for Events that are not written yet, in ms. */
const flushWithin = 2_000

/** An object that Events are about. */
interface About {
  readonly metadata: ObjectMeta
}

/**
 * Records what happens to sessions, for `kubectl describe`. Nothing here fails or waits: no session depends on an
 * Event.
 */
export interface EventRecorder {
  readonly record: (resource: ResourceDescriptor<unknown>, about: About, event: SessionEvent) => void
  /** Records the changes that a write of ours made. `after`: the API server's answer. */
  readonly changed: <T extends About>(
    resource: ResourceDescriptor<T>,
    before: T,
    after: KubeObject,
    decide: (before: T, after: T) => ReadonlyArray<SessionEvent>
  ) => void
}

/** The recorder of the operator's own cluster, for its capabilities. */
export class Events extends Context.Service<Events, EventRecorder>()("braid/app/Events") {}

/** The name of an Event, which must be a DNS name: long names of objects are cut. */
const eventName = (about: string, now: number, index: number): string =>
  `${withoutEnd(about.slice(0, 200), "-.")}.${now.toString(16)}${(index % 0x1000).toString(16).padStart(3, "0")}`

const problemOf = ({ code, reason }: KubeError, isNew: boolean): WriteProblem => {
  if (reason === "NotFound" && !isNew) return "Expired"
  if (reason === "Unreachable" || reason === "TooManyRequests" || reason === "Conflict" || reason === "Unauthorized")
    return "Later"
  return (code ?? 0) >= 500 ? "Later" : "Never"
}

/** The memory of one recorder. */
interface RecorderState {
  readonly api: KubeApi
  readonly clock: Clock.Clock
  /** The remembered series, in the order of their last occurrence. */
  readonly known: Map<string, EventSeries>
  /** Opens when a series may have become due sooner than expected. */
  readonly wake: Latch.Latch
  /** Open while nothing is being written. */
  readonly idle: Latch.Latch
  /** Runs for as long as the recorder's scope lives. */
  readonly run: (work: Effect.Effect<void>) => void
  /** Logs Events that cannot be written. */
  readonly problems: LogOnce
  /** Makes the names of Events differ that begin in the same millisecond. */
  index: number
  isRunning: boolean
  isStopping: boolean
  /** No write before this time, because the server has just refused a write; epoch ms. */
  pausedUntil: number
}

const makeState = Effect.fnUntraced(function* (api: KubeApi): Effect.fn.Return<RecorderState, never, Scope.Scope> {
  return {
    api,
    clock: yield* Clock.Clock,
    known: new Map(),
    wake: Latch.makeUnsafe(false),
    idle: Latch.makeUnsafe(true),
    run: yield* FiberSet.makeRuntime<never>(),
    problems: new LogOnce(),
    index: 0,
    isRunning: false,
    isStopping: false,
    pausedUntil: 0
  }
})

const isWaiting = (series: EventSeries): boolean => dueAt(series) !== undefined

const countWaiting = ({ known }: RecorderState): number => [...known.values()].filter(isWaiting).length

const put = ({ known }: RecorderState, key: string, series: EventSeries | undefined): void => {
  if (series === undefined) known.delete(key)
  else known.set(key, series)
}

const write = (
  { api }: RecorderState,
  { about, event, name, written, ...occurrences }: EventSeries
): Effect.Effect<unknown, KubeError> =>
  written === undefined
    ? api.create(events, eventObject(name, about, event, occurrences), namespaceOfEvents(about)).pipe(
        // An earlier try was carried out, only its answer was lost.
        Effect.catch((error) => (error.reason === "AlreadyExists" ? Effect.void : Effect.fail(error)))
      )
    : api.mergePatch(events, name, eventRepeated(event, occurrences), { namespace: namespaceOfEvents(about) })

const writeNow = Effect.fnUntraced(function* (
  state: RecorderState,
  key: string,
  series: EventSeries
): Effect.fn.Return<void> {
  const result = yield* Effect.result(write(state, series))
  const now = state.clock.currentTimeMillisUnsafe()
  // The event may have happened again during the write.
  const current = state.known.get(key) ?? series
  if (Result.isSuccess(result)) {
    state.problems.reset()
    return put(state, key, wasWritten(current, series.count, now))
  }
  const { failure } = result
  const next = wasRefused(current, state.isStopping ? "Never" : problemOf(failure, series.written === undefined))
  put(state, key, next)
  state.pausedUntil = now + Math.max(failure.retryAfterMs ?? 0, next === undefined ? 0 : afterFailure)
  if (next !== undefined) return
  const details = { about: series.about.name, problem: failure.detail }
  yield* state.problems.tell(failure.detail, logWarning("Event not recorded", details))
})

/** A series that is to be written, and the time of its write, epoch ms. */
interface DueSeries {
  readonly key: string
  readonly series: EventSeries
  readonly at: number
}

/** The series that is to be written first. */
const firstDue = ({ known }: RecorderState): DueSeries | undefined => {
  let found: DueSeries | undefined
  for (const [key, series] of known) {
    const due = dueAt(series)
    if (due !== undefined && (found === undefined || due < found.at)) found = { key, series, at: due }
  }
  return found
}

/** Writes all waiting series, one after the other. */
const writeAll = (state: RecorderState): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (let next = firstDue(state); next !== undefined; next = firstDue(state)) {
      state.wake.closeUnsafe()
      const earliest = Math.max(state.isStopping ? 0 : next.at, state.pausedUntil)
      const wait = earliest - state.clock.currentTimeMillisUnsafe()
      if (wait > 0) yield* Effect.raceFirst(Effect.sleep(wait), state.wake.await)
      else yield* writeNow(state, next.key, next.series)
    }
  }).pipe(
    Effect.ensuring(
      Effect.sync(() => {
        state.isRunning = false
        state.idle.openUnsafe()
      })
    )
  )

const forgetOldest = ({ known }: RecorderState): void => {
  for (const [key, series] of known) {
    if (known.size <= maxRemembered) return
    if (!isWaiting(series)) known.delete(key)
  }
}

const recordIn =
  (state: RecorderState): EventRecorder["record"] =>
  (resource, { metadata }, event) => {
    const { clock, known } = state
    const { name, namespace, uid = "" } = metadata
    const place = namespace === undefined ? {} : { namespace }
    const about = { apiVersion: apiVersionOf(resource), kind: resource.kind, name, uid, ...place }
    const key = seriesKey(about, event)
    const before = known.get(key)
    if (state.isStopping || (before === undefined && countWaiting(state) >= maxWaiting)) return
    const now = clock.currentTimeMillisUnsafe()
    known.delete(key)
    known.set(key, occurred(before, { name: eventName(name, now, state.index++), about, event }, now))
    forgetOldest(state)
    state.wake.openUnsafe()
    if (state.isRunning) return
    state.isRunning = true
    state.idle.closeUnsafe()
    state.run(writeAll(state))
  }

/** Writes the waiting series at once, for at most {@link flushWithin}. */
const flush = (state: RecorderState): Effect.Effect<unknown> =>
  Effect.suspend(() => {
    state.isStopping = true
    state.wake.openUnsafe()
    return Effect.timeoutOption(Effect.interruptible(state.idle.await), flushWithin)
  })

/**
 * Records Events in the cluster of `api` for as long as the scope lives; at its end the waiting series are written for
 * a moment. One write runs at a time. A repeated event is counted and written at growing intervals. A failed write is
 * tried twice more at most, then its Event is lost.
 */
export const makeEventRecorder = Effect.fnUntraced(function* (
  api: KubeApi
): Effect.fn.Return<EventRecorder, never, Scope.Scope> {
  const state = yield* makeState(api)
  yield* countHolding("Events to be written", () => countWaiting(state))
  yield* Effect.addFinalizer(() => flush(state))
  const record = recordIn(state)
  return {
    record,
    changed: (resource, before, after, decide) => {
      const read = readCached(resource, after)
      if (Result.isFailure(read)) return
      for (const event of decide(before, read.success)) record(resource, read.success, event)
    }
  }
})
