/**
 * The split of queues that a request for a copy asks for, and what a session on the copy has to know of it.
 *
 * Not here: whether the workload has such queues (app/queues).
 */

import { Effect, Result } from "effect"
import { type CopyRequest, readCopyRequest } from "../../domain/copies/copy-request.ts"
import { wantedSplit } from "../../domain/queues/wanted-split-reader.ts"
import type { WantedSplit } from "../../domain/queues/wanted-split.ts"
import { unservedFeatures } from "../../domain/sessions/unserved-parameters.ts"
import { type ApiError, badRequest } from "../api/status.ts"
import type { QueueSplits } from "../queues/queue-splits.ts"
import type { ConnectAttempt } from "../services/capability.ts"
import type { ConnectedCopy } from "../services/copy-targets.ts"

/**
 * The split of the copied workload's queues; `undefined` if there is none to make. Refuses what this operator does not
 * split. `route`: the sort of the copy's sessions, `Child` where a primary orders it.
 */
export const splitOfCopy = (
  splits: QueueSplits["Service"],
  route: ConnectAttempt["_tag"],
  namespace: string,
  { splits: params, target }: CopyRequest
): Effect.Effect<WantedSplit | undefined, ApiError> => {
  const unserved = unservedFeatures(params, { branches: false, sqs: splits.areServed(route), isLink: false })
  return unserved.length > 0
    ? Effect.fail(badRequest(unserved.join(" ")))
    : Effect.fromResult(Result.mapError(wantedSplit(params, { isLink: false, namespace, target }), badRequest))
}

/** The splits of a session on a copy. `spec`: of the copy; `container`: of its sessions, if it is known. */
export const splitsOfSession = (spec: unknown, container: string | undefined): ConnectedCopy["splits"] =>
  Result.getOrUndefined(
    Result.map(readCopyRequest({ spec }), ({ splits: params, target }) => ({
      of: { ...target, container: container ?? target.container },
      params
    }))
  )

/** Whether the queues of the copied workload have to be split. `mirrord up` goes on where there are none. */
export const splitsQueues = (namespace: string, spec: unknown): boolean => {
  const wanted = Result.flatMap(readCopyRequest({ spec }), ({ splits, target }) =>
    wantedSplit(splits, { isLink: false, namespace, target })
  )
  return Result.isSuccess(wanted) && wanted.success?.isAutomatic === false
}
