/**
 * A line of the log that is written when it is news and not each time it holds: what is tried again and again would
 * fill the log otherwise.
 */

import { Effect } from "effect"

/** Remembers what was said last about one thing. */
export class LogOnce {
  #last: string | undefined

  /** Logs `line` unless the same `news` was told last. */
  readonly tell = (news: string, line: Effect.Effect<void>): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (this.#last === news) return Effect.void
      this.#last = news
      return line
    })

  /** All is well: whatever comes is news again. */
  readonly reset = (): void => {
    this.#last = undefined
  }
}
