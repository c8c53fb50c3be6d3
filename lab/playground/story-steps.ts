/** Steps of the playground's stories: how they are reported. Not here: the steps themselves. */

import { Effect } from "effect"
import { ClientFailed } from "../client/client-failed.ts"
import type { Hangs } from "./awaited.ts"
import type { Reporter, StepDetails } from "./reporter.ts"

export const failed = (detail: string): ClientFailed => new ClientFailed({ detail })

export const demand = (holds: boolean, otherwise: string): Effect.Effect<void, ClientFailed> =>
  holds ? Effect.void : Effect.fail(failed(otherwise))

/** Reports a step. A failed step ends the story, because the next steps would only fail for the same reason. */
export const reportedStep =
  (reporter: Reporter) =>
  <A extends StepDetails, R>(
    name: string,
    run: Effect.Effect<A, ClientFailed | Hangs, R>
  ): Effect.Effect<A, ClientFailed | Hangs, R> =>
    run.pipe(
      Effect.tap((details) => reporter.step(name, true, details)),
      Effect.tapError((error) => reporter.step(name, false, { problem: error.message }))
    )
