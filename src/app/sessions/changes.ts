import { Effect } from "effect"

/** Tells whoever waits that something may have changed. */
export class Changes {
  readonly #listeners = new Set<() => void>()

  readonly notify = (): void => {
    for (const listener of this.#listeners) listener()
  }

  /** Waits until `read` gives something, asking again after each change. */
  readonly until = <A extends object>(read: () => A | undefined): Effect.Effect<A> =>
    Effect.callback<A>((resume) => {
      const listener = (): void => {
        const value = read()
        if (value === undefined) return
        this.#listeners.delete(listener)
        resume(Effect.succeed(value))
      }
      this.#listeners.add(listener)
      listener()
      return Effect.sync(() => this.#listeners.delete(listener))
    })
}
