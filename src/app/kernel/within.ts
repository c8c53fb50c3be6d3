/**
 * A time limit that holds in finalizers, where Effect's own do not.
 */

import { Duration, Effect, Fiber } from "effect"

/**
 * Waits for `effect` no longer than `limit`; false if that was too short. For finalizers: they run uninterruptible,
 * often in a fiber that is interrupted already, and neither lets a timeout work. So it runs in a fiber of its own.
 */
export const within = (effect: Effect.Effect<unknown>, limit: Duration.Duration): Effect.Effect<boolean> =>
  Effect.forkDetach(Effect.timeoutOption(effect, limit)).pipe(
    Effect.flatMap(Fiber.join),
    Effect.map((ended) => ended._tag === "Some")
  )
