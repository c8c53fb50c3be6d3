/**
 * Waits for all that a primary finds its clusters by: without it, the sessions of clusters that are not found yet would
 * lose them.
 */

import { Effect, Option } from "effect"
import { logWarning } from "../kernel/log.ts"
import type { Reflector } from "../kernel/reflector.ts"

/** How often the log says that something cannot be read, and how often it is looked for again. */
export const tellEvery = "30 seconds"

/** `what`: the collection, for the log. */
export const awaitFirstList = ({ awaitSynced, problem }: Reflector, what: string): Effect.Effect<void> =>
  Effect.timeoutOption(awaitSynced, tellEvery).pipe(
    Effect.tap((known) =>
      Option.isSome(known)
        ? Effect.void
        : logWarning(`${what} are not known, and the operator waits for them`, {
            problem: problem()?.message ?? "no answer yet"
          })
    ),
    Effect.repeat({ until: Option.isSome }),
    Effect.asVoid
  )
