/**
 * Calls about children to the API servers of their clusters. No turn waits for them, so a slow or silent cluster holds
 * up no other. When to create or delete a child is decided in `domain/sessions`, not here.
 */

import { Clock, Effect } from "effect"
import type { ClusterName } from "../../../domain/fleet/cluster-name.ts"
import { mirrordClusterSessions } from "../../../domain/resources/mirrord-cluster-session.ts"
import { isBeingDeleted } from "../../../domain/resources/object-meta.ts"
import { apiVersionOf } from "../../../domain/resources/resource-descriptor.ts"
import { childMarks, childOwner } from "../../../domain/sessions/child-owner.ts"
import { traceparentAnnotation } from "../../../domain/sessions/names.ts"
import type { SessionAction } from "../../../domain/sessions/session-action.ts"
import { type KubeApi, KubeError, type KubeObject } from "../../../ports/kube-api.ts"
import type { CallEnd } from "../../kernel/background-calls.ts"
import { logWarning } from "../../kernel/log.ts"
import { creation, deleteMeant, deleteSeen } from "../../kernel/mirrored-object.ts"
import { orIf } from "../../kernel/or-if.ts"
import { currentTraceparent, traced } from "../../kernel/tracing.ts"
import { recordedPhase } from "../session-sightings.ts"
import { childKey, type SessionManagerState, type SessionTurn } from "./session-manager-state.ts"

/** How long a call to one cluster may take before it counts as failed, in ms. */
const callTimeout = 10_000
/** Pause between a failed call and the next plan of its session, in ms. */
const afterFailure = 1_000

const timedOut = (cluster: ClusterName): KubeError =>
  new KubeError({
    cluster,
    operation: "call",
    reason: "Unreachable",
    detail: `no answer within ${callTimeout} ms`
  })

/** Begins a call about one child. A cluster that cannot be connected gets none. */
const callAboutChild = (
  { calls, controller, options }: SessionManagerState,
  session: string,
  [cluster, child]: readonly [ClusterName, string],
  use: (api: KubeApi) => Effect.Effect<CallEnd, KubeError>
): Effect.Effect<void> =>
  Effect.sync(() => {
    const access = options.fleet.clusters.get(cluster)?.access()
    if (access === undefined) return
    const timeout = timedOut(cluster)
    const call = Effect.suspend(() => use(access.api)).pipe(
      Effect.timeoutOrElse({ duration: callTimeout, orElse: () => Effect.fail(timeout) }),
      Effect.catch((error) =>
        logWarning("call to a cluster failed", { session, problem: error.message }).pipe(
          Effect.andThen(Effect.sleep(Math.max(afterFailure, error.retryAfterMs ?? 0))),
          Effect.as("PlanAgain" as const)
        )
      )
    )
    calls.begin(childKey(cluster, child), call, () => controller.enqueue(session))
  })

export const createChild = (
  state: SessionManagerState,
  turn: SessionTurn,
  { child, cluster }: Extract<SessionAction, { readonly _tag: "CreateChild" }>
): Effect.Effect<void> => {
  const answers = turn.known
  // Those of now: the cluster may be another one when it answers.
  const children = state.options.fleet.clusters.get(cluster)?.children()
  const key = childKey(cluster, child.metadata.name)
  const { kind } = mirrordClusterSessions
  const { annotations } = child.metadata
  const body = (traceparent: string | undefined): KubeObject => ({
    apiVersion: apiVersionOf(mirrordClusterSessions),
    kind,
    ...child,
    ...(traceparent === undefined
      ? {}
      : { metadata: { ...child.metadata, annotations: { ...annotations, [traceparentAnnotation]: traceparent } } })
  })
  const refused = ({ detail, reason }: KubeError): Effect.Effect<CallEnd> =>
    Effect.map(Clock.currentTimeMillis, (at) => {
      const failure = { reason: reason === "Forbidden" ? "Forbidden" : "Error", message: detail } as const
      answers.set(key, { _tag: "Refused", at, failure })
      return "PlanAgain"
    })
  const use = (api: KubeApi): Effect.Effect<CallEnd, KubeError> => {
    // Cleared before the call: the child may exist although the answer is lost, so nothing is known to be gone any
    // more.
    answers.delete(key)
    state.askedForChildren.add(turn.object.metadata.uid ?? "")
    return currentTraceparent.pipe(
      Effect.flatMap((traceparent) => api.create(mirrordClusterSessions, body(traceparent))),
      traced({
        name: "child create",
        kind: "client",
        within: turn.object.metadata.annotations?.[traceparentAnnotation],
        attributes: { "braid.session": turn.key, "k8s.cluster.name": cluster }
      }),
      creation,
      Effect.flatMap((end) => {
        if (end._tag === "Refused") return refused(end.error)
        // Until the watch shows the child, each turn would create it again.
        if (end._tag === "Made") children?.wrote(end.object)
        return Effect.succeed("Done" as const)
      })
    )
  }
  return callAboutChild(state, turn.key, [cluster, child.metadata.name], use)
}

/** Whether this parent created the child, even if the rest of the child cannot be decoded. */
const isChildOf = ({ metadata: { name, uid = "" } }: KubeObject, child: KubeObject): boolean =>
  childOwner(childMarks(child), { name, uid }) === "This"

/** Whether all children of a parent are to be deleted, whichever UID was observed. */
const isEnding = (parent: KubeObject): boolean => isBeingDeleted(parent.metadata) || recordedPhase(parent) === "Failed"

/** Deletes a child by its UID, because its name may belong to a successor by now. */
export const deleteChild = (
  state: SessionManagerState,
  turn: SessionTurn,
  { childName, cluster, uid }: Extract<SessionAction, { readonly _tag: "DeleteChild" }>
): Effect.Effect<void> => {
  const { known: answers, object: parent } = turn
  const isMeant = (child: KubeObject): boolean =>
    child.metadata.uid === uid || ((uid === undefined || isEnding(parent)) && isChildOf(parent, child))
  // Read again, because the cache may show a deleted child for long.
  const gone = Effect.suspend((): Effect.Effect<CallEnd> => {
    answers.set(childKey(cluster, childName), { _tag: "Gone" })
    const reread = state.options.fleet.clusters.get(cluster)?.children()?.reread(childName) ?? Effect.void
    return Effect.as(reread, "PlanAgain")
  })
  const use = (api: KubeApi): Effect.Effect<CallEnd, KubeError> => {
    const place = { api, resource: mirrordClusterSessions, name: childName }
    const whichever = deleteMeant(place, isMeant)
    return (uid === undefined ? whichever : deleteSeen(place, { uid })).pipe(
      orIf("Conflict", whichever),
      Effect.flatMap((deletion) => (deletion === "Gone" ? gone : Effect.succeed("Done" as const)))
    )
  }
  return callAboutChild(state, turn.key, [cluster, childName], use)
}
