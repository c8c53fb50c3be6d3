import { Clock, Effect, FiberSet, Latch, Result, type Scope } from "effect"
import type { SessionEvent } from "../../domain/events/event-catalogue.ts"
import { eventNamespace, eventObject, eventRepeated, events } from "../../domain/events/event-object.ts"
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
import { held } from "./holdings.ts"
import { logWarning } from "./log.ts"
import { readCached } from "./read-cached.ts"

/** So many series may wait to be written; what comes then is lost. */
const mostWaiting = 1_000
/** So many series are remembered, so that what happens again is counted and not created again. */
const mostRemembered = 2_000
/** Before the next write after one that failed, in ms, unless the server asked for more. */
const afterFailure = 2_000
/** How long an orderly stop waits for what is not written yet, in ms. */
const flushWithin = 2_000

/** An object that Events are about. */
interface About {
  readonly metadata: ObjectMeta
}

/**
 * Tells what happens to sessions, for `kubectl describe`. Nothing here fails or waits: no session depends on an Event.
 */
export interface EventRecorder {
  readonly record: (resource: ResourceDescriptor<unknown>, about: About, event: SessionEvent) => void
  /** Records what a write of ours changed. `after`: the API server's answer. */
  readonly changed: <T extends About>(
    resource: ResourceDescriptor<T>,
    before: T,
    after: KubeObject,
    decide: (before: T, after: T) => ReadonlyArray<SessionEvent>
  ) => void
}

/** A DNS name is asked for: of a long one only the beginning. */
const eventName = (about: string, now: number, index: number): string =>
  `${about.slice(0, 200).replace(/[-.]+$/, "")}.${now.toString(16)}${(index % 0x1000).toString(16).padStart(3, "0")}`

const problemOf = ({ code, reason }: KubeError, isNew: boolean): WriteProblem => {
  if (reason === "NotFound" && !isNew) return "Expired"
  if (reason === "Unreachable" || reason === "TooManyRequests" || reason === "Conflict" || reason === "Unauthorized")
    return "Later"
  return (code ?? 0) >= 500 ? "Later" : "Never"
}

/**
 * Records Events in the cluster of `api` for as long as the scope lives; when that ends, what still waits is written,
 * for a moment. One write at a time; what repeats is counted and written at growing intervals. A write that fails is
 * tried twice more at most, then its Event is lost.
 */
export const makeEventRecorder = (api: KubeApi): Effect.Effect<EventRecorder, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    /** In the order of their last occurrence. */
    const known = new Map<string, EventSeries>()
    const run = yield* FiberSet.makeRuntime<never>()
    const wake = Latch.makeUnsafe(false)
    const idle = Latch.makeUnsafe(true)
    let index = 0
    let isRunning = false
    let isStopping = false
    /** No write before it: the server has just refused one. Epoch ms. */
    let pausedUntil = 0
    /** What was said last about Events that cannot be written: once is enough. */
    let told: string | undefined
    const isWaiting = (series: EventSeries): boolean => dueAt(series) !== undefined
    const waiting = (): number => [...known.values()].filter(isWaiting).length
    yield* held("Events to be written", waiting)

    const tell = (problem: string, about: string): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (told === problem) return Effect.void
        told = problem
        return logWarning("Event not recorded", { about, problem })
      })

    const put = (key: string, series: EventSeries | undefined): void => {
      if (series === undefined) known.delete(key)
      else known.set(key, series)
    }

    const write = ({ about, event, name, written, ...occurrences }: EventSeries): Effect.Effect<unknown, KubeError> =>
      written === undefined
        ? api.create(events, eventObject(name, about, event, occurrences), eventNamespace).pipe(
            // An earlier try got through, only its answer did not.
            Effect.catch((error) => (error.reason === "AlreadyExists" ? Effect.void : Effect.fail(error)))
          )
        : api.mergePatch(events, name, eventRepeated(event, occurrences), { namespace: eventNamespace })

    const writeNow = (key: string, series: EventSeries): Effect.Effect<void> =>
      Effect.gen(function* () {
        const result = yield* Effect.result(write(series))
        const now = clock.currentTimeMillisUnsafe()
        // It may have happened again meanwhile.
        const current = known.get(key) ?? series
        if (Result.isSuccess(result)) {
          told = undefined
          return put(key, wasWritten(current, series.count, now))
        }
        const { failure } = result
        const next = wasRefused(current, isStopping ? "Never" : problemOf(failure, series.written === undefined))
        put(key, next)
        pausedUntil = now + Math.max(failure.retryAfterMs ?? 0, next === undefined ? 0 : afterFailure)
        if (next === undefined) yield* tell(failure.detail, series.about.name)
      })

    /** The series that is to be written first. */
    const first = (): { readonly key: string; readonly series: EventSeries; readonly at: number } | undefined => {
      let found: { readonly key: string; readonly series: EventSeries; readonly at: number } | undefined
      for (const [key, series] of known) {
        const due = dueAt(series)
        if (due !== undefined && (found === undefined || due < found.at)) found = { key, series, at: due }
      }
      return found
    }

    const work = Effect.gen(function* () {
      for (let next = first(); next !== undefined; next = first()) {
        wake.closeUnsafe()
        const wait = Math.max(isStopping ? 0 : next.at, pausedUntil) - clock.currentTimeMillisUnsafe()
        if (wait > 0) yield* Effect.raceFirst(Effect.sleep(wait), wake.await)
        else yield* writeNow(next.key, next.series)
      }
    }).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          isRunning = false
          idle.openUnsafe()
        })
      )
    )

    const forgetOldest = (): void => {
      for (const [key, series] of known) {
        if (known.size <= mostRemembered) return
        if (!isWaiting(series)) known.delete(key)
      }
    }

    const record: EventRecorder["record"] = (resource, { metadata }, event) => {
      const about = {
        apiVersion: apiVersionOf(resource),
        kind: resource.kind,
        name: metadata.name,
        uid: metadata.uid ?? ""
      }
      const key = seriesKey(about, event)
      const before = known.get(key)
      if (isStopping || (before === undefined && waiting() >= mostWaiting)) return
      const now = clock.currentTimeMillisUnsafe()
      known.delete(key)
      known.set(key, occurred(before, { name: eventName(metadata.name, now, index++), about, event }, now))
      forgetOldest()
      wake.openUnsafe()
      if (isRunning) return
      isRunning = true
      idle.closeUnsafe()
      run(work)
    }

    yield* Effect.addFinalizer(() =>
      Effect.suspend(() => {
        isStopping = true
        wake.openUnsafe()
        return Effect.timeoutOption(Effect.interruptible(idle.await), flushWithin)
      })
    )

    return {
      record,
      changed: (resource, before, after, decide) => {
        const read = readCached(resource, after)
        if (Result.isFailure(read)) return
        for (const event of decide(before, read.success)) record(resource, read.success, event)
      }
    }
  })
