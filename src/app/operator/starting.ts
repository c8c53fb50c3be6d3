/**
 * An operator from its first moment on, while its parts are still being read. Repeats the start and reports why it
 * fails; the start itself is the caller's.
 */

import { Deferred, Effect, Schedule, type Scope } from "effect"
import type { KubeError } from "../../ports/kube-api.ts"
import { type Facade, mapFacade } from "../api/facade-gate.ts"
import { internalError } from "../api/status.ts"
import { logWarning } from "../kernel/log.ts"

/** How long a request waits for a starting operator, in ms: shorter than a person's patience. */
const patience = 8_000
/**
 * With jitter, the pauses are shorter than that patience: a request that comes when the obstacle is gone waits until
 * the next try.
 */
const retries = Schedule.min([Schedule.exponential("500 millis"), Schedule.spaced("3 seconds")]).pipe(Schedule.jittered)

/**
 * Serves from the first moment on: until `start` has made the facade, every request waits a little and is told why.
 * Otherwise the API server would answer 503 in the operator's place, and clients repeat on 503 for minutes without a
 * word (operator-api.md §2.4). A start that fails is repeated.
 */
export const untilStarted = Effect.fnUntraced(function* <R>(
  start: Effect.Effect<Facade, KubeError, R>
): Effect.fn.Return<Facade, never, R | Scope.Scope> {
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
  const stillStarting = () => Effect.fail(internalError(`${why()}; try again in a moment.`))
  return mapFacade(Effect.timeoutOrElse(Deferred.await(started), { duration: patience, orElse: stillStarting }), {
    problems: Effect.flatMap(Deferred.isDone(started), (done) =>
      done ? Effect.flatMap(Deferred.await(started), (made) => made.problems) : Effect.succeed([`${why()}.`])
    )
  })
})
