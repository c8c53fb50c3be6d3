/**
 * Waits for configurations of queues that a primary sends to its members: a session may be there before them.
 *
 * Not here: sending them (sync/configuration-copies.ts).
 */

import { Clock, Deferred, Effect } from "effect"
import { configurationComes } from "../../domain/sessions/session-start.ts"

/** The configurations that come, by their namespaces. */
export class ConfigurationArrivals {
  readonly #waiting = new Map<string, Deferred.Deferred<void>>()

  /** A configuration of a namespace has come, changed or gone. */
  came(namespace: string): void {
    const waiting = this.#waiting.get(namespace)
    if (waiting === undefined) return
    this.#waiting.delete(namespace)
    Deferred.doneUnsafe(waiting, Effect.void)
  }

  #next(namespace: string): Effect.Effect<void> {
    const waiting = this.#waiting.get(namespace) ?? Deferred.makeUnsafe<void>()
    this.#waiting.set(namespace, waiting)
    return Deferred.await(waiting)
  }

  /**
   * Looks again after each arrival in the namespace, until a look finds enough or {@link configurationComes} is over.
   * Gives what the last look found.
   */
  until<A, E>(namespace: string, look: Effect.Effect<A, E>, isEnough: (found: A) => boolean): Effect.Effect<A, E> {
    return Effect.gen({ self: this }, function* () {
      const end = (yield* Clock.currentTimeMillis) + configurationComes
      for (;;) {
        // Before the look, which may miss what comes during it.
        const arrival = this.#next(namespace)
        const found = yield* look
        const left = end - (yield* Clock.currentTimeMillis)
        if (isEnough(found) || left <= 0) return found
        yield* Effect.timeoutOption(arrival, left)
      }
    })
  }
}
