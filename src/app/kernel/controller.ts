/**
 * The kernel of every controller: queues keys, reconciles each, and repeats after failures. Knows no resources and no
 * caches; planned-controller.ts builds on it.
 */

import { Cause, Clock, Effect, Exit, FiberMap, Metric, Random, type Scope } from "effect"
import { countHolding } from "./holdings.ts"
import { logWarning } from "./log.ts"
import { counter } from "./metrics.ts"

/**
 * The next reconcile that a reconcile asks for: after so many ms; soon, because another writer was first; or only after
 * the next change.
 */
export type Requeue = { readonly after: number } | "Conflict" | undefined

/** Bounds of the delay before the n-th repetition in a row, in ms, before jitter. */
interface Backoff {
  readonly first: number
  readonly longest: number
}
const afterFailure: Backoff = { first: 200, longest: 30_000 }
/** The watch will bring the newer object soon, unless it is silent (failures.md §4.6). */
const afterConflict: Backoff = { first: 100, longest: 5_000 }

const isPatient = (error: unknown): error is { readonly retryAfterMs: number } =>
  typeof error === "object" && error !== null && "retryAfterMs" in error && typeof error.retryAfterMs === "number"

export interface Controller {
  /**
   * Reconciles a key because something about it changed; a key that is being reconciled is reconciled once more
   * afterwards.
   */
  readonly enqueue: (key: string) => void
}

const outcomeOf = (exit: Exit.Exit<Requeue, unknown>): "done" | "conflict" | "failed" => {
  if (Exit.isFailure(exit)) return "failed"
  return exit.value === "Conflict" ? "conflict" : "done"
}

/** The counters of a controller's turns, by outcome; shown from the start, so that the first failure is an increase. */
const turnCounters = Effect.fnUntraced(function* (controller: string) {
  const of = (outcome: string) => counter("braid_reconciles_total", { controller, outcome })
  const counters = { done: of("done"), conflict: of("conflict"), failed: of("failed") }
  for (const one of Object.values(counters)) yield* Metric.update(one, 0)
  return counters
})

interface Entry {
  dirty: boolean
  /** Whether the key's fiber only sleeps until its next turn. Another fiber may take its place. */
  isResting: boolean
  /** Failed turns in a row. */
  failures: number
  /** Turns in a row in which another writer was first. */
  conflicts: number
}

/**
 * A queue of keys, one reconcile at a time per key, exponential back-off with jitter per key (controller-runtime's
 * vocabulary). `reconcile` reads, decides and acts; it may be repeated and interrupted at any point. A key costs
 * nothing while nothing is to be done for it.
 */
export const makeController = Effect.fnUntraced(function* <E, R>(options: {
  readonly name: string
  readonly reconcile: (key: string) => Effect.Effect<Requeue, E, R>
}): Effect.fn.Return<Controller, never, R | Scope.Scope> {
  const entries = new Map<string, Entry>()
  const fibers = yield* FiberMap.make<string>()
  const run = yield* FiberMap.runtime(fibers)<R>()
  yield* countHolding(`keys of ${options.name}`, () => entries.size)
  const turns = yield* turnCounters(options.name)

  const backoff = ({ first, longest }: Backoff, times: number) =>
    Effect.map(Random.nextBetween(0.8, 1.2), (jitter) => Math.min(longest, first * 2 ** Math.min(times, 20)) * jitter)

  /** How long a server has asked to be left alone, in ms. */
  const wanted = (cause: Cause.Cause<unknown>): number =>
    Math.max(
      0,
      ...cause.reasons.map((reason) =>
        reason._tag === "Fail" && isPatient(reason.error) ? reason.error.retryAfterMs : 0
      )
    )

  const loop = Effect.fnUntraced(function* (key: string, entry: Entry) {
    entry.isResting = false
    for (;;) {
      entry.dirty = false
      const started = yield* Clock.currentTimeMillis
      const exit = yield* Effect.exit(options.reconcile(key))
      yield* Metric.update(turns[outcomeOf(exit)], 1)
      let delay: number | undefined
      let pause = 0
      if (Exit.isSuccess(exit)) {
        entry.failures = 0
        if (exit.value === "Conflict") delay = yield* backoff(afterConflict, entry.conflicts++)
        else {
          entry.conflicts = 0
          delay = exit.value?.after
        }
      } else {
        // Repeated even after an interruption inside: a key whose loop ended here would never be reconciled again.
        delay = yield* backoff(afterFailure, entry.failures++)
        pause = wanted(exit.cause)
        yield* logWarning("reconcile failed", {
          controller: options.name,
          key,
          failures: entry.failures,
          ms: (yield* Clock.currentTimeMillis) - started,
          cause: Cause.pretty(exit.cause)
        })
      }
      // A change during this pause does not shorten it: the server asked for it.
      if (pause > 0) yield* Effect.sleep(pause)
      if (entry.dirty) continue
      if (delay === undefined) {
        entries.delete(key)
        return
      }
      entry.isResting = true
      yield* Effect.sleep(delay)
      entry.isResting = false
    }
  })

  const enqueue = (key: string): void => {
    const known = entries.get(key)
    if (known !== undefined && !known.isResting) {
      known.dirty = true
      return
    }
    const entry: Entry = known ?? { dirty: false, isResting: false, failures: 0, conflicts: 0 }
    entries.set(key, entry)
    // The map interrupts the fiber that rests. A race between its sleep and a signal would cost two more fibers for
    // each turn of each key.
    run(key, loop(key, entry))
  }
  return { enqueue }
})
