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
  #deniedSince: number | undefined
  #deniedFor = 0

  /** The last failure; `undefined` if the last call succeeded. */
  get error(): QueueError | undefined {
    return this.#error
  }

  /** Between the first and the last failure for a missing right, without any other answer since, in ms. */
  get deniedFor(): number {
    return this.#deniedFor
  }

  /** How long the queue is left alone from now on. */
  wait(now: number): number {
    return Math.max(0, this.#until - now)
  }

  readonly failed = (error: QueueError | undefined): Effect.Effect<void> =>
    Effect.zipWith(Clock.Clock, Random.nextBetween(0.5, 1), (clock, jitter) => {
      const pause = Math.ceil(Math.min(longest, firstPause * 2 ** this.#failures) * jitter)
      this.#failures = Math.min(this.#failures + 1, 20)
      const now = elapsedOf(clock)()
      this.#until = Math.max(this.#until, now + pause)
      this.#error = error
      if (error === undefined) return
      this.#deniedSince = error.reason === "Denied" ? (this.#deniedSince ?? now) : undefined
      this.#deniedFor = now - (this.#deniedSince ?? now)
    })

  succeeded(): void {
    this.#failures = 0
    this.#until = 0
    this.#error = undefined
    this.#deniedSince = undefined
    this.#deniedFor = 0
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

  readonly #total: { forwarded: number } | undefined

  /** `total`: counts the sends beyond this outlet too. */
  constructor(queue: DestinationQueue, total?: { forwarded: number }) {
    this.queue = queue
    this.#total = total
  }

  readonly hasSent = (messages: number): void => {
    this.forwarded += messages
    if (this.#total !== undefined) this.#total.forwarded += messages
  }
}
