/**
 * One process's time as the leader, as everybody sees it who must not act beyond it. How it is won and renewed is in
 * leadership/elector.ts.
 */

import { type Clock, Effect } from "effect"
import type { LeaseTimes } from "../../domain/leadership/lease-times.ts"

/** How long whatever a user waits for waits for a late renewal, in ms. */
const patience = 5_000

/** One process's time as the leader, by its own steady clock. */
export interface Term {
  /** Grows with every change of leader: `leaseTransitions` of the Lease. */
  readonly epoch: number
  /**
   * Whether what is sent now is still this leader's to send. May be false for a while and true again, when a renewal
   * comes late.
   */
  readonly lasts: () => boolean
  /**
   * Whether nobody else can have been elected yet. Longer than {@link lasts}, by the time that writes may be on their
   * way.
   */
  readonly isCertain: () => boolean
  /** It has ended, and never lasts again. */
  readonly isOver: () => boolean
  /** Waits for a late renewal, for as long as a user's patience allows; whether the term lasts now. */
  readonly lastsSoon: Effect.Effect<boolean>
  /** Opens when the term is over. */
  readonly over: Effect.Effect<void>
  /** Calls back after each renewal and at the end, until the returned function is called. */
  readonly listen: (changed: () => void) => () => void
}

/** The steady clock: ms that no change of the host's clock moves. It goes on while the process is stopped. */
export const elapsedOf = (clock: Clock.Clock) => (): number => Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)

/** A {@link Term} in the hands of who renews it. */
export class LeaseTerm implements Term {
  readonly epoch: number
  readonly #elapsed: () => number
  readonly #times: LeaseTimes
  readonly #listeners = new Set<() => void>()
  /** When the request was sent that renewed it last: others count from no earlier moment. */
  #renewed: number
  #over = false

  /** `acquired`: when the request was sent that began it, by `elapsed`. */
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

  /** For how long nobody else can be elected from now on, ms; negative since when somebody can. */
  certainFor(): number {
    return this.#renewed + this.#times.leaseDuration - this.#elapsed()
  }

  /** `sent`: when the request left that has renewed it. */
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
      const look = (): void => {
        if (!holds()) return
        stop()
        resume(Effect.void)
      }
      const stop = this.listen(look)
      look()
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
