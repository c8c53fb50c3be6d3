/**
 * Sums lines of the log that repeat: of each kind a burst is written in full, then one line each second, and the others
 * as a count. log-once.ts is for a line that stays the same; nothing here decides what a kind is.
 */

import { Clock, Context, Effect } from "effect"
import { isWholeAllowance, type LineAllowance, takeLine } from "../../domain/line-allowance.ts"

/** Kinds that are remembered at once; further kinds share one allowance. */
const maxKinds = 1_000
/** How long lines are counted before their sum is written, in ms. */
const sumEvery = 1_000

interface Kind {
  allowance: LineAllowance | undefined
  /** Lines that were not written and are in no sum yet. */
  left: number
}

/** The memory of a process about lines that repeat. */
export class RepeatedLines {
  readonly #kinds = new Map<string, Kind>()

  /**
   * Writes `line`, or counts it. `sum` writes the number of lines that were counted, at most once a second for each
   * kind.
   */
  readonly tell = (
    kind: string,
    line: Effect.Effect<void>,
    sum: (left: number) => Effect.Effect<void>
  ): Effect.Effect<void> =>
    Effect.gen({ self: this }, function* () {
      const now = yield* Clock.currentTimeMillis
      const known = this.#known(kind, now)
      const { isAllowed, left } = takeLine(known.allowance, now)
      known.allowance = left
      if (isAllowed) return yield* line
      known.left++
      if (known.left > 1) return
      const tellSum = Effect.suspend(() => {
        const count = known.left
        known.left = 0
        return sum(count)
      })
      yield* Effect.forkDetach(Effect.andThen(Effect.sleep(sumEvery), tellSum))
    })

  #known(kind: string, now: number): Kind {
    if (!this.#kinds.has(kind) && this.#kinds.size >= maxKinds) this.#forget(now)
    const name = this.#kinds.has(kind) || this.#kinds.size < maxKinds ? kind : ""
    const known = this.#kinds.get(name) ?? { allowance: undefined, left: 0 }
    this.#kinds.set(name, known)
    return known
  }

  #forget(now: number): void {
    for (const [name, { allowance, left }] of this.#kinds)
      if (left === 0 && (allowance === undefined || isWholeAllowance(allowance, now))) this.#kinds.delete(name)
  }
}

/** The memory of this process, unless another is provided. */
export const CurrentRepeatedLines = Context.Reference("braid/app/CurrentRepeatedLines", {
  defaultValue: () => new RepeatedLines()
})
