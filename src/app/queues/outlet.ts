/**
 * A queue that messages are forwarded to, and the pauses that this queue needs after failures. A queue that fails holds
 * up no other: its messages stay in the original meanwhile.
 */

import { Clock, Effect, Random } from "effect"
import type { DestinationQueue } from "../../domain/queues/forwarded-message.ts"
import type { QueueError } from "../../ports/message-queues.ts"
import { elapsedOf } from "../kernel/term.ts"

/** Pause after a failure, in ms, before jitter; it doubles up to `longest`. */
const firstPause = 100
const longest = 5_000

/** The pauses between calls to one queue. Times are in ms of the steady clock. */
export class BackOff {
  #failures = 0
  #until = 0
  #error: QueueError | undefined

  /** The last failure; `undefined` if the last call succeeded. */
  get error(): QueueError | undefined {
    return this.#error
  }

  /** How long the queue is left alone from now on. */
  wait(now: number): number {
    return Math.max(0, this.#until - now)
  }

  readonly failed = (error: QueueError | undefined): Effect.Effect<void> =>
    Effect.zipWith(Clock.Clock, Random.nextBetween(0.5, 1), (clock, jitter) => {
      const pause = Math.ceil(Math.min(longest, firstPause * 2 ** this.#failures) * jitter)
      this.#failures = Math.min(this.#failures + 1, 20)
      this.#until = Math.max(this.#until, elapsedOf(clock)() + pause)
      this.#error = error
    })

  succeeded(): void {
    this.#failures = 0
    this.#until = 0
    this.#error = undefined
  }
}

/** One queue that messages are forwarded to. */
export class Outlet {
  readonly queue: DestinationQueue
  readonly backOff = new BackOff()
  /** Whether nothing may be sent there any more, and whether that was reported. */
  isClosed = false
  isReported = false
  /** Messages that were to go there, and sends that succeeded. A message that comes again counts again. */
  matched = 0
  forwarded = 0

  constructor(queue: DestinationQueue) {
    this.queue = queue
  }
}
