/** Steps of the playground's stories: how they are reported, and how they wait. Not here: the steps themselves. */

import { Effect } from "effect"
import { ClientFailed } from "../client/client-failed.ts"
import type { Reporter, StepDetails } from "./reporter.ts"

export const failed = (detail: string): ClientFailed => new ClientFailed({ detail })

export const demand = (holds: boolean, otherwise: string): Effect.Effect<void, ClientFailed> =>
  holds ? Effect.void : Effect.fail(failed(otherwise))

/** Waits for a state that no event announces. */
export const eventually = <A extends object | string>(
  what: string,
  look: Effect.Effect<A | undefined>
): Effect.Effect<A, ClientFailed> =>
  Effect.gen(function* () {
    for (;;) {
      const found = yield* look
      if (found !== undefined) return found
      yield* Effect.sleep("100 millis")
    }
  }).pipe(
    Effect.timeoutOrElse({
      duration: "5 minutes",
      orElse: () => Effect.fail(failed(`${what} did not happen within 5 minutes`))
    })
  )

/** Reports a step. A failed step ends the story, because the next steps would only fail for the same reason. */
export const reportedStep =
  (reporter: Reporter) =>
  <A extends StepDetails, R>(name: string, run: Effect.Effect<A, ClientFailed, R>): Effect.Effect<A, ClientFailed, R> =>
    run.pipe(
      Effect.tap((details) => reporter.step(name, true, details)),
      Effect.tapError((error) => reporter.step(name, false, { problem: error.message }))
    )
