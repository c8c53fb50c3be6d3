/**
 * Notices a message that is begun and never finished. Checks are counted instead of ms, so that the time in which this
 * process was suspended, or in which the socket was not read, does not count.
 */

/** How long a message may take from its first byte to its last, in ms; at most a quarter more. */
export const maxMessageTime = 60_000

/** Checks within that time. The message is given up at the check after these. */
const checks = 4

/** The reader that is watched. */
export interface Unfinished {
  /** Whether a message is begun and not finished. */
  readonly isUnfinished: boolean
  /** Counts the finished messages. */
  readonly finished: number
  /** Whether the time does not count, because the reader is paused. */
  readonly isExcused: boolean
}

export class UnfinishedWatch {
  readonly #watched: Unfinished
  readonly #giveUp: () => void
  #timer: NodeJS.Timeout | undefined
  #finished = 0
  #checked = 0

  constructor(watched: Unfinished, giveUp: () => void) {
    this.#watched = watched
    this.#giveUp = giveUp
  }

  /** To be called after each read. */
  look(): void {
    if (this.#timer !== undefined || !this.#watched.isUnfinished) return
    this.#finished = this.#watched.finished
    this.#checked = 0
    this.#timer = setInterval(() => this.#check(), maxMessageTime / checks)
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #check(): void {
    const { finished, isExcused, isUnfinished } = this.#watched
    if (!isUnfinished) return this.stop()
    this.#checked = finished === this.#finished ? this.#checked + (isExcused ? 0 : 1) : 0
    this.#finished = finished
    if (this.#checked <= checks) return
    this.stop()
    this.#giveUp()
  }
}
