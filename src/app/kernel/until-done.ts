/**
 * Carries out a step of a loop that must not end. A defect is logged, and the step is tried again after a pause:
 * otherwise the loop would be over without a word.
 */

import { Cause, Effect } from "effect"
import { logError } from "./log.ts"

/** Pause after a failure, in ms. */
const afterFailure = 5_000

/** `failed`: the log's message about a failure. */
export const untilDone = (step: Effect.Effect<void>, failed: string): Effect.Effect<void> =>
  Effect.catchCause(step, (cause) =>
    Cause.hasInterruptsOnly(cause)
      ? Effect.interrupt
      : logError(failed, { cause: Cause.pretty(cause) }).pipe(
          Effect.andThen(Effect.sleep(afterFailure)),
          Effect.andThen(() => untilDone(step, failed))
        )
  )
