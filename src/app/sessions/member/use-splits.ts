/**
 * Has the queues split that a client names when it attaches to a session.
 *
 * Not here: the splits (app/queues), and the messages that carry the session's variables (app/relay).
 */

import { Effect, Result } from "effect"
import { namedQueues, wantedSplit } from "../../../domain/queues/wanted-split-reader.ts"
import type { WantedSplit } from "../../../domain/queues/wanted-split.ts"
import type {
  MirrordClusterSession,
  MirrordClusterSessionSpec
} from "../../../domain/resources/mirrord-cluster-session.ts"
import { explainFailure, type SessionFailure } from "../../../domain/resources/session-failure.ts"
import type { ConnectParams } from "../../../domain/sessions/connect-request.ts"
import { failureStatus } from "../../../domain/sessions/failure-status.ts"
import { asksForSplit, splitsQueues } from "../../../domain/sessions/names.ts"
import { fromKubeTarget } from "../../../domain/targets/kube-target.ts"
import type { Target } from "../../../domain/targets/target.ts"
import { ApiError, badRequest, conflict, reconnectNotPossible } from "../../api/status.ts"
import type { QueueSplits } from "../../queues/queue-splits.ts"

/** A client that attaches, and the parameters by which it names queues. */
interface SplitClient {
  /** Whether it is a user, and not the operator of a primary. */
  readonly isUser: boolean
  readonly params: ConnectParams
  /** The workload whose queues it names, if that is not the session's target but what that was copied from. */
  readonly queuesOf?: Target | undefined
}

/** Seconds in which the pods of a workload may be replaced, with a margin to the restarts' own bounds. */
const restartSecs = 180

/** How long a client waits for its session, in seconds. `usual`: without splits. */
export const patienceOf = (usual: number, { params }: Pick<SplitClient, "params">): number =>
  namedQueues(params).length === 0 ? usual : Math.max(usual, restartSecs)

/** The split that a client asks for in a session of this spec; `undefined` if none. */
const wantedBy = (
  { isUser, params, queuesOf }: SplitClient,
  { namespace, target }: Pick<MirrordClusterSessionSpec, "namespace" | "target">
): Effect.Effect<WantedSplit | undefined, ApiError> => {
  const named = queuesOf ?? fromKubeTarget(target)
  if (named === undefined) return Effect.succeed(undefined)
  const wanted = wantedSplit(params, { namespace, target: named, isLink: !isUser })
  return Effect.fromResult(Result.mapError(wanted, badRequest))
}

/** Whether a user's new session splits queues. Refuses an impossible split, before anything is made for it. */
export const mayBeginSplit = Effect.fnUntraced(function* (
  splits: QueueSplits["Service"],
  client: Omit<SplitClient, "isUser">,
  spec: MirrordClusterSessionSpec
) {
  const wanted = yield* wantedBy({ ...client, isUser: true }, spec)
  return wanted !== undefined && (yield* splits.check(wanted))
})

/**
 * Orders the split that a client asks for. Each connect of a session does: an order that is there already changes
 * nothing, and one that a former operator could not make is made up for.
 */
export const orderSplit = Effect.fnUntraced(function* (
  splits: QueueSplits["Service"],
  client: SplitClient,
  session: MirrordClusterSession
) {
  const { metadata, spec } = session
  // Its primary has told what it wants with the child itself.
  if (!client.isUser && asksForSplit(metadata)) return
  const wanted = yield* wantedBy(client, spec)
  if (wanted === undefined) return
  // The child of a primary is there before its queues are known.
  const isSplit = client.isUser ? splitsQueues(metadata) : yield* splits.check(wanted)
  if (isSplit) return yield* splits.order(session, wanted)
  if (client.isUser && !wanted.isAutomatic) {
    return yield* reconnectNotPossible(
      `Session ${metadata.name} has begun without the queues that the request names; start a new session.`
    )
  }
})

/**
 * The answer to a client whose session has no queues. A session that has begun cannot go on without them; a primary
 * learns that by a code of its own, since `ReconnectNotPossible` only says that the child is gone.
 */
export const notSplit = (
  cluster: string,
  failure: SessionFailure,
  { isUser, wasServed }: { readonly isUser: boolean; readonly wasServed: boolean }
): ApiError => {
  const sentence = explainFailure(cluster, failure)
  if (wasServed) return (isUser ? reconnectNotPossible : conflict)(`The session cannot go on: ${sentence}`)
  const { code, message, reason } = failureStatus({ ...failure, message: sentence })
  return new ApiError({ code, reason, message })
}
