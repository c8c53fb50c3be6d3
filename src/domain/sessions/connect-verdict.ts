/**
 * Decides about a connect request of a session over many clusters: make the session, hold the request, attach it or
 * refuse it.
 *
 * Not here: carrying the verdict out (app/sessions/primary), and the session's own life (session-plan.ts).
 */

import { clusterName } from "../fleet/cluster-name.ts"
import type { MirrordMultiClusterSession } from "../resources/mirrord-multi-cluster-session.ts"
import { isBeingDeleted } from "../resources/object-meta.ts"
import { failureStatus, reconnectNotPossible, type KubeStatus } from "./failure-status.ts"
import { conditionSince, parentConditions, recordedFailure } from "./parent-view.ts"

/** The decision about a connect request of a session. */
export type ConnectVerdict =
  /** There is no such session: make its parent, then hold. */
  | { readonly _tag: "Create" }
  /** Keep the request waiting; decide again when the parent changes. */
  | { readonly _tag: "Hold" }
  /** Answer 101. */
  | { readonly _tag: "Attach" }
  | { readonly _tag: "Refuse"; readonly status: KubeStatus }

/**
 * Decides about a connect request, first or repeated, from the session's parent alone, so every replica decides the
 * same. While the default cluster of a running session is away, the request is held. `plan` fails the session past the
 * bound, and then the request is refused with 410.
 */
export const connectVerdict = (parent: MirrordMultiClusterSession | undefined): ConnectVerdict => {
  if (parent === undefined) return { _tag: "Create" }
  const { metadata, spec, status } = parent
  if (isBeingDeleted(metadata) || status?.phase === "Terminating") {
    return { _tag: "Refuse", status: reconnectNotPossible("This mirrord session has ended; start a new one.") }
  }
  const failure = recordedFailure(parent)
  if (failure !== undefined) return { _tag: "Refuse", status: failureStatus(failure) }
  const entry =
    spec.defaultCluster === undefined ? undefined : status?.clusterSessions?.[clusterName(spec.defaultCluster)]
  const defaultReady =
    entry?.ready ?? conditionSince(status?.conditions, parentConditions.defaultReady, "True") !== undefined
  return { _tag: status?.phase === "Ready" && defaultReady ? "Attach" : "Hold" }
}
