/**
 * The refusals of connects whose branches cannot be used, in the words of one cluster and of a primary alike.
 *
 * Not here: whether a branch can be used (domain/branches/usable-branch.ts).
 */

import { Effect, Result, Schedule } from "effect"
import { type BranchObstacle, isPassing } from "../../domain/branches/usable-branch.ts"
import { quotation, quoted } from "../../domain/clean-text.ts"
import { type ApiError, badRequest, internalError } from "../api/status.ts"
import type { Reflector } from "../kernel/reflector.ts"

/** How long a connect waits until the branches have been read. */
const patience = "8 seconds"

/** Waits until the branches have been read. `caches`: of the branches and of all that they are judged by. */
export const onceRead = (
  started: Effect.Effect<void>,
  caches: ReadonlyArray<Pick<Reflector, "problem">>
): Effect.Effect<void, ApiError> =>
  Effect.timeoutOrElse(started, {
    duration: patience,
    orElse: () => {
      const [why] = caches.flatMap(({ problem }) => problem()?.detail ?? [])
      const told = why === undefined ? "" : `: ${quotation(why)}`
      return Effect.fail(internalError(`The database branches have not been read yet${told}; try again in a moment.`))
    }
  })

/** How often a branch is looked at whose obstacle may pass in a moment, and with which pause. */
const looks = { times: 20, schedule: Schedule.spaced("250 millis") }

/** A client may read that a branch is ready before this process does, so an obstacle that may pass has some time. */
export const onceUsable = <A>(
  look: () => Result.Result<A, BranchObstacle>
): Effect.Effect<Result.Result<A, BranchObstacle>> =>
  Effect.sync(look).pipe(
    Effect.repeat({ until: (found) => Result.isSuccess(found) || !isPassing(found.failure), ...looks })
  )

/** `namespace`: of the session's target. */
export const branchRefusal = (name: string, namespace: string, obstacle: BranchObstacle): ApiError => {
  const branch = quoted(name)
  switch (obstacle._tag) {
    case "Unknown":
      return badRequest(
        `There is no database branch ${branch} in namespace ${namespace}, or it is being deleted; run the command ` +
          "again in a moment, which makes a new one."
      )
    case "BeingDeleted":
      return badRequest(`The database branch ${branch} is being deleted; run the command again in a moment.`)
    case "Replaced":
      return badRequest(`The database branch ${branch} is not the one that the session used; start a new session.`)
    case "Failed":
      return badRequest(`The database branch ${branch} has failed; its status says why. Run the command again.`)
    case "Unserved":
      return badRequest(`The database branch ${branch} cannot be used: ${obstacle.problem}`)
    case "NotReady":
      return internalError(
        `The database branch ${branch} is not ready (phase ${obstacle.phase}); try again in a moment.`
      )
    case "NoAddress":
      return internalError(`The database branch ${branch} has no address yet; try again in a moment.`)
  }
}
