/**
 * How long each watch of this process has been silent. Objects do not tell when they changed, so an event has no age
 * that could be measured; but an API server sends a bookmark every minute, so the silence of a watch tells that it may
 * be behind.
 *
 * Not here: watching (reflector.ts).
 */

import { Clock, Context, Effect, type Scope } from "effect"
import type { Sample } from "../../domain/metrics/catalogue.ts"
import { elapsedOf } from "./term.ts"

/** A watch, and when it last brought something, by the steady clock; at first when it was begun. */
interface HeardWatch {
  readonly cluster: string
  heardAt: number
}

export class WatchLags {
  readonly #watches = new Set<HeardWatch>()

  readonly add = (watch: HeardWatch): void => void this.#watches.add(watch)
  readonly remove = (watch: HeardWatch): void => void this.#watches.delete(watch)

  /** The longest silence at each cluster. `now`: by the steady clock, ms. */
  readonly samples = (now: number): ReadonlyArray<Sample> => {
    const oldest = new Map<string, number>()
    for (const { cluster, heardAt } of this.#watches)
      oldest.set(cluster, Math.min(oldest.get(cluster) ?? heardAt, heardAt))
    return [...oldest].map(([cluster, heardAt]): Sample => ({
      name: "braid_watch_lag_seconds",
      labels: { cluster },
      value: (now - heardAt) / 1_000
    }))
  }
}

/** The watches of this process, unless others are provided. */
export const CurrentWatchLags = Context.Reference("braid/app/CurrentWatchLags", {
  defaultValue: () => new WatchLags()
})

/** Notes a watch for as long as the scope lives. The returned function is called whenever it has brought something. */
export const hearWatch = Effect.fnUntraced(function* (
  cluster: string
): Effect.fn.Return<() => void, never, Scope.Scope> {
  const { add, remove } = yield* CurrentWatchLags
  const elapsed = elapsedOf(yield* Clock.Clock)
  const watch: HeardWatch = { cluster, heardAt: elapsed() }
  yield* Effect.acquireRelease(
    Effect.sync(() => add(watch)),
    () => Effect.sync(() => remove(watch))
  )
  return () => void (watch.heardAt = elapsed())
})
