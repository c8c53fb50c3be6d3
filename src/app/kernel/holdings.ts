/**
 * The check for leaks: counts, on demand, the things that a process keeps in memory for sessions. Without sessions
 * there are none; the simulation looks. Not effect/Metric: a gauge there is set with each change and outlives the thing
 * that it measures, whereas tables on the message path change in plain synchronous code, and several tables of a kind
 * come and go in one process.
 */

import { Context, Effect, type Scope } from "effect"

/**
 * Things that a process holds in memory for sessions, by kind, such as sockets, port locks or mapped ids. Without
 * sessions every kind is empty; anything that remains is a leak.
 */
export class Holdings {
  readonly #counts = new Map<string, Set<() => number>>()

  /** Adds a counter to a kind, until the returned function is called. */
  readonly add = (kind: string, count: () => number): (() => void) => {
    const counts = this.#counts.get(kind) ?? new Set()
    this.#counts.set(kind, counts.add(count))
    return () => {
      counts.delete(count)
      if (counts.size === 0) this.#counts.delete(kind)
    }
  }

  /** The sums by kind, without kinds that are empty. */
  readonly now = (): ReadonlyMap<string, number> => {
    const sums = [...this.#counts].map(
      ([kind, counts]) => [kind, [...counts].reduce((sum, count) => sum + count(), 0)] as const
    )
    return new Map(sums.filter(([, sum]) => sum > 0))
  }
}

/** The holdings of this process, unless others are provided. */
export const CurrentHoldings = Context.Reference("braid/app/CurrentHoldings", { defaultValue: () => new Holdings() })

/** Counts a kind among the current holdings for as long as the scope lives. */
export const countHolding = (kind: string, count: () => number): Effect.Effect<void, never, Scope.Scope> =>
  Effect.flatMap(CurrentHoldings, ({ add }) =>
    Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => add(kind, count)),
        (remove) => Effect.sync(remove)
      )
    )
  )
