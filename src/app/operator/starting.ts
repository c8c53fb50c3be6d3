/**
 * An operator from its first moment on, while what it is made of is still read. Why it cannot start is its cluster's
 * news; this only tells it, and tries again.
 */

import { Deferred, Effect, Schedule, type Scope } from "effect"
import type { KubeError } from "../../ports/kube-api.ts"
import { type Facade, mapFacade } from "../api/facade-gate.ts"
import { internalError } from "../api/status.ts"
import { logWarning } from "../kernel/log.ts"

/** How long a request waits for an operator that is still starting, in ms: below what makes a person give up. */
const patience = 8_000
/**
 * With jitter, less than that patience: who asks when nothing stands in the way any more waits until it is found out.
 */
const retries = Schedule.min([Schedule.exponential("500 millis"), Schedule.spaced("3 seconds")]).pipe(Schedule.jittered)

/**
 * Serves from the first moment on: what `start` makes takes over as soon as it is there, and until then every request
 * waits a little and is told why. Otherwise the API server would answer 503 in the operator's place, on which clients
 * repeat for minutes without a word (operator-api.md §2.4). A start that fails is tried again.
 */
export const untilStarted = <R>(
  start: Effect.Effect<Facade, KubeError, R>
): Effect.Effect<Facade, never, R | Scope.Scope> =>
  Effect.gen(function* () {
    const started = yield* Deferred.make<Facade>()
    let problem = "it is reading its cluster"
    yield* start.pipe(
      Effect.tapError((error) => {
        problem = error.message
        return Effect.andThen(logWarning("the operator cannot start yet", { problem }), () =>
          Effect.sleep(error.retryAfterMs ?? 0)
        )
      }),
      Effect.retry(retries),
      Effect.flatMap((facade) => Deferred.succeed(started, facade)),
      Effect.forkScoped
    )
    const why = (): string => `The operator is still starting: ${problem}`
    const late = () => Effect.fail(internalError(`${why()}; try again in a moment.`))
    return mapFacade(Effect.timeoutOrElse(Deferred.await(started), { duration: patience, orElse: late }), {
      problems: Effect.flatMap(Deferred.isDone(started), (done) =>
        done ? Effect.flatMap(Deferred.await(started), (made) => made.problems) : Effect.succeed([`${why()}.`])
      )
    })
  })
