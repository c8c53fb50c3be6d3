/**
 * Wakes callers who wait for a session when something about it may have changed. They check for themselves: the
 * notifier does not say what changed. Planners of sessions have the ChangeFeed.
 */

import { Effect } from "effect"

export class SessionNotifier {
  readonly #listeners = new Map<string, Set<() => void>>()

  /** How many sessions are listened to. */
  get size(): number {
    return this.#listeners.size
  }

  /** Wakes the listeners of a session: something about it may have changed. */
  readonly notify = (session: string): void => {
    for (const listener of this.#listeners.get(session) ?? []) listener()
  }

  /** Wakes all listeners: something that concerns every session may have changed. */
  readonly notifyAll = (): void => {
    for (const session of [...this.#listeners.keys()]) this.notify(session)
  }

  /** Calls `listener` after each change of the session, until the returned function is called. */
  readonly listen = (session: string, listener: () => void): (() => void) => {
    const listeners = this.#listeners.get(session) ?? new Set()
    this.#listeners.set(session, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0) this.#listeners.delete(session)
    }
  }

  /** Waits until `read` gives a value; it is asked again after each change of the session. */
  readonly until = <A extends object>(session: string, read: () => A | undefined): Effect.Effect<A> =>
    Effect.callback<A>((resume) => {
      const check = (): void => {
        const value = read()
        if (value === undefined) return
        stop()
        resume(Effect.succeed(value))
      }
      const stop = this.listen(session, check)
      check()
      return Effect.sync(stop)
    })
}
