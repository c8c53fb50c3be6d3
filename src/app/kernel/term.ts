/**
 * One process's time as the leader, for all code that must not act beyond it. leadership/elector.ts wins and renews it.
 */

import { type Clock, Effect } from "effect"
import type { LeaseTimes } from "../../domain/leadership/lease-times.ts"

/** How long a user-facing call waits for a late lease renewal, in ms. */
const patience = 5_000

/** One process's time as the leader, by its own steady clock. */
export interface Term {
  /** Grows with every change of leader: `leaseTransitions` of the Lease. */
  readonly epoch: number
  /** Whether this leader may still send. May be false for a while and true again, when a renewal comes late. */
  readonly lasts: () => boolean
  /**
   * Whether no other leader can have been elected yet. True for longer than {@link lasts} (by default 15 s after the
   * last renewal, not 10 s), so that writes already sent can land.
   */
  readonly isCertain: () => boolean
  /** Whether the term has ended; it never lasts again. */
  readonly isOver: () => boolean
  /** Waits for a late renewal, for as long as a user's patience allows. Gives whether the term lasts then. */
  readonly lastsSoon: Effect.Effect<boolean>
  /** Opens when the term is over. */
  readonly over: Effect.Effect<void>
  /** Calls back after each renewal and at the end, until the returned function is called. */
  readonly listen: (changed: () => void) => () => void
}

/** The steady clock: ms that no change of the host's clock moves. It goes on while the process is stopped. */
export const elapsedOf = (clock: Clock.Clock) => (): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

/** A {@link Term} as the elector holds it, who renews and ends it. */
export class LeaseTerm implements Term {
  readonly epoch: number
  readonly #elapsed: () => number
  readonly #times: LeaseTimes
  readonly #listeners = new Set<() => void>()
  /** When the last successful renewal was sent; other candidates count from no earlier moment. */
  #renewed: number
  #over = false

  /** `acquired`: when the request that began the term was sent, by `elapsed`. */
  constructor(epoch: number, acquired: number, times: LeaseTimes, elapsed: () => number) {
    this.epoch = epoch
    this.#renewed = acquired
    this.#times = times
    this.#elapsed = elapsed
  }

  readonly lasts = (): boolean => !this.#over && this.#elapsed() < this.#renewed + this.#times.renewDeadline
  readonly isCertain = (): boolean => !this.#over && this.certainFor() > 0
  readonly isOver = (): boolean => this.#over

  readonly listen = (changed: () => void): (() => void) => {
    this.#listeners.add(changed)
    return () => void this.#listeners.delete(changed)
  }

  /** How long no other leader can be elected, in ms; negative once that is possible. */
  certainFor(): number {
    return this.#renewed + this.#times.leaseDuration - this.#elapsed()
  }

  /** Records a renewal. `sent`: when its request left. */
  renewed(sent: number): void {
    this.#renewed = Math.max(this.#renewed, sent)
    this.#tell()
  }

  end(): void {
    if (this.#over) return
    this.#over = true
    this.#tell()
  }

  readonly #until = (holds: () => boolean): Effect.Effect<void> =>
    Effect.callback<void>((resume) => {
      const check = (): void => {
        if (!holds()) return
        stop()
        resume(Effect.void)
      }
      const stop = this.listen(check)
      check()
      return Effect.sync(stop)
    })

  readonly over: Effect.Effect<void> = Effect.suspend(() => this.#until(this.isOver))

  readonly lastsSoon: Effect.Effect<boolean> = Effect.suspend(() =>
    this.lasts()
      ? Effect.succeed(true)
      : this.#until(() => this.lasts() || this.#over).pipe(
          Effect.timeoutOption(patience),
          Effect.map(() => this.lasts())
        )
  )

  #tell(): void {
    for (const listener of [...this.#listeners]) listener()
  }
}
