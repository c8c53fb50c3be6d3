/**
 * Writes a line to the log when it is news, and not each time it holds: repeated tries would fill the log otherwise.
 * Not for messages that differ each time.
 */

import { Effect } from "effect"

/** Remembers the last message about one thing. */
export class LogOnce {
  #last: string | undefined

  /** Logs `line` unless the last message had the same `news`. */
  readonly tell = (news: string, line: Effect.Effect<void>): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (this.#last === news) return Effect.void
      this.#last = news
      return line
    })

  /** Forgets the last message after a success: any message is news again. */
  readonly reset = (): void => {
    this.#last = undefined
  }
}
