/**
 * Refuses a connect whose target is in a protected namespace, before anything is made for its session. The rule itself
 * is decided in `domain/targets/protected-namespaces.ts`.
 */

import { Effect } from "effect"
import { explainFailure } from "../../domain/resources/session-failure.ts"
import { type ProtectedNamespaces, protectedTarget } from "../../domain/targets/protected-namespaces.ts"
import type { ConnectRequest } from "./operator-facade.ts"
import { type ApiError, forbidden } from "./status.ts"

/** `cluster`: the cluster whose namespaces these are, where it has a name. */
export const unlessProtected = (
  namespaces: ProtectedNamespaces,
  { namespace, target }: ConnectRequest,
  cluster: string | undefined
): Effect.Effect<void, ApiError> => {
  const failure = protectedTarget(namespaces, namespace, target === "targetless")
  return failure === undefined ? Effect.void : Effect.fail(forbidden(explainFailure(cluster, failure)))
}
