/**
 * Ends a part of a session over many clusters when its namespace is being deleted, which the part would hold up: the
 * namespace's controller waits until the aggregated API lists no session there. The primary goes on without the
 * cluster, or ends the session.
 */

import { Clock, Effect, FiberMap } from "effect"
import { namespaces } from "../../../domain/resources/core-kinds.ts"
import type { MirrordClusterSession } from "../../../domain/resources/mirrord-cluster-session.ts"
import type { KubeApi, KubeError } from "../../../ports/kube-api.ts"
import { logWarning } from "../../kernel/log.ts"
import { orIf } from "../../kernel/or-if.ts"
import { type ClusterSessionState, failedAttempt, refreshOf, release, sessionChanged } from "./session-state.ts"

/** Whether a namespace is being deleted. One that is not there holds nothing up. */
export const namespaceGoes = (api: KubeApi, name: string): Effect.Effect<boolean, KubeError> =>
  api.get(namespaces, name).pipe(
    Effect.map(({ metadata }) => metadata.deletionTimestamp !== undefined),
    orIf("NotFound", Effect.succeed(false))
  )

/** The result is whether the part has ended. It begins again if its target is there again. */
export const endWithNamespace = Effect.fnUntraced(function* (
  state: ClusterSessionState,
  { metadata: { name }, spec: { namespace } }: MirrordClusterSession
): Effect.fn.Return<boolean, KubeError> {
  const session = state.sessions.get(name)
  if (session === undefined || !(yield* namespaceGoes(state.retryingApi, namespace))) return false
  if (session.hasLeft) return true
  const message = `namespace ${namespace} is being deleted`
  yield* logWarning("session ends here", { session: name, problem: message })
  yield* FiberMap.remove(state.tasks, refreshOf(name))
  yield* FiberMap.remove(state.tasks, name)
  release(session)
  session.hasLeft = true
  session.target = failedAttempt(session, { reason: "NoPods", message }, yield* Clock.currentTimeMillis)
  session.agent = { _tag: "None" }
  sessionChanged(state, name)
  return true
})
