/**
 * A time limit that holds in finalizers, where Effect's own timeouts do not. Elsewhere use Effect's own.
 */

import { Duration, Effect, Fiber } from "effect"

/**
 * Waits for `effect` no longer than `limit`; false if that was too short. Finalizers run uninterruptible, often in a
 * fiber that is interrupted already, and neither lets a timeout work. So the effect runs in a fiber of its own.
 */
export const within = (effect: Effect.Effect<unknown>, limit: Duration.Duration): Effect.Effect<boolean> =>
  Effect.forkDetach(Effect.timeoutOption(effect, limit)).pipe(
    Effect.flatMap(Fiber.join),
    Effect.map((ended) => ended._tag === "Some")
  )
