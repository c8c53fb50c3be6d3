import { Cause, Clock, Effect, Exit, FiberMap, Latch, Random, type Scope } from "effect"
import { logWarning } from "../log.ts"

/** What a reconcile wants next: to be called again after so many ms, or only when something changes. */
export type Requeue = { readonly after: number } | undefined

/** Delay before the n-th repetition of a failing reconcile, in ms, before jitter. */
const firstBackoff = 200
const longestBackoff = 30_000

export interface Controller {
  /** Something about this key changed. Keys that are being reconciled are reconciled once more afterwards. */
  readonly enqueue: (key: string) => void
}

interface Entry {
  dirty: boolean
  readonly wake: Latch.Latch
}

/**
 * The kernel of every controller: a queue of keys, one reconcile at a time per key, exponential back-off with jitter per key
 * (controller-runtime's vocabulary). `reconcile` reads, decides and acts; it may be repeated and interrupted at any point.
 * A key costs nothing while nothing is to be done for it.
 */
export const makeController = <E, R>(options: {
  readonly name: string
  readonly reconcile: (key: string) => Effect.Effect<Requeue, E, R>
}): Effect.Effect<Controller, never, R | Scope.Scope> =>
  Effect.gen(function* () {
    const entries = new Map<string, Entry>()
    const fibers = yield* FiberMap.make<string>()
    const run = yield* FiberMap.runtime(fibers)<R>()

    const backoff = (failures: number) =>
      Effect.map(Random.nextBetween(0.8, 1.2), (jitter) =>
        Math.min(longestBackoff, firstBackoff * 2 ** Math.min(failures, 20)) * jitter
      )

    const loop = Effect.fnUntraced(function* (key: string, entry: Entry) {
      let failures = 0
      for (;;) {
        entry.dirty = false
        entry.wake.closeUnsafe()
        const started = yield* Clock.currentTimeMillis
        const exit = yield* Effect.exit(options.reconcile(key))
        let delay: number | undefined
        if (Exit.isSuccess(exit)) {
          failures = 0
          delay = exit.value?.after
        } else {
          // Also when something inside was interrupted: a key whose loop just ended would never be reconciled again.
          delay = yield* backoff(failures++)
          yield* logWarning("reconcile failed", {
            controller: options.name,
            key,
            failures,
            ms: (yield* Clock.currentTimeMillis) - started,
            cause: Cause.pretty(exit.cause)
          })
        }
        if (entry.dirty) continue
        if (delay === undefined) {
          entries.delete(key)
          return
        }
        yield* Effect.raceFirst(Effect.sleep(delay), entry.wake.await)
      }
    })

    const enqueue = (key: string): void => {
      const known = entries.get(key)
      if (known !== undefined) {
        known.dirty = true
        known.wake.openUnsafe()
        return
      }
      const entry: Entry = { dirty: false, wake: Latch.makeUnsafe(false) }
      entries.set(key, entry)
      run(key, loop(key, entry))
    }
    return { enqueue }
  })
