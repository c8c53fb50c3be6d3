import { Effect } from "effect"

/** Tells whoever waits that something about a session may have changed. */
export class Changes {
  readonly #listeners = new Map<string, Set<() => void>>()

  /** Something about this session may have changed. */
  readonly notify = (session: string): void => {
    for (const listener of this.#listeners.get(session) ?? []) listener()
  }

  /** Something that concerns every session may have changed. */
  readonly notifyAll = (): void => {
    for (const session of [...this.#listeners.keys()]) this.notify(session)
  }

  /** Waits until `read` gives something, asking again after each change of the session. */
  readonly until = <A extends object>(session: string, read: () => A | undefined): Effect.Effect<A> =>
    Effect.callback<A>((resume) => {
      const stop = (): void => {
        const listeners = this.#listeners.get(session)
        listeners?.delete(listener)
        if (listeners?.size === 0) this.#listeners.delete(session)
      }
      const listener = (): void => {
        const value = read()
        if (value === undefined) return
        stop()
        resume(Effect.succeed(value))
      }
      const listeners = this.#listeners.get(session) ?? new Set()
      this.#listeners.set(session, listeners.add(listener))
      listener()
      return Effect.sync(stop)
    })
}
