/** Goes on looking after failures, for the pages of `braid ui`: slower and slower, until a look is fine again. */

import { Effect } from "effect"
import type { Unanswered } from "../overview/ask-cluster.ts"

/** Longest pause after failures in a row, ms: a program of the kubeconfig may run for each try. */
const maxPause = 15_000

/**
 * Looks for ever. A cluster may come back, and credentials may be renewed, so it begins again after a failure, with
 * another connection. `lookOn`: looks until a look fails, and calls `looked` after each that does not. `firstPause`:
 * ms.
 */
export const lookAgain = <R>(
  firstPause: number,
  lookOn: (looked: () => void) => Effect.Effect<never, Unanswered, R>,
  failed: (problem: Unanswered) => Effect.Effect<void>
): Effect.Effect<never, never, R> =>
  Effect.gen(function* () {
    for (let pause = firstPause; ; pause = Math.min(2 * pause, maxPause)) {
      const problem = yield* Effect.flip(lookOn(() => (pause = firstPause)))
      yield* failed(problem)
      yield* Effect.sleep(pause)
    }
  })
