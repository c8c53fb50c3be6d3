/**
 * Finds clusters by Secrets beside the operator that hold kubeconfigs. The name of a Secret is the name of its cluster,
 * as for multicluster-runtime's provider.
 *
 * Not here: reading a kubeconfig (domain/fleet/kubeconfig.ts), and who joins the fleet (domain/fleet/
 * provided-clusters.ts).
 */

import { Effect, type Scope } from "effect"
import { kubeconfigKey, kubeconfigLabel } from "../../domain/fleet/provided-clusters.ts"
import { secrets } from "../../domain/resources/core-kinds.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import { makeReflector } from "../kernel/reflector.ts"
import { awaitFirstList } from "./await-first-list.ts"
import { FoundClusters, inSecret, type ProvidedClusters, type SecretUse } from "./found-clusters.ts"

/** The Secrets with kubeconfigs. `namespace`: that of the operator. */
export const kubeconfigSelection = (namespace: string) => ({ namespace, labelSelector: `${kubeconfigLabel}=true` })

export const kubeconfigSecretUse: SecretUse = {
  key: kubeconfigKey,
  from: (name, namespace) => `Secret ${namespace}/${name}`
}

/** Follows the Secrets of the operator's namespace while the scope lives; completes when they are known. */
export const kubeconfigSecrets = Effect.fnUntraced(function* (
  api: KubeApi,
  namespace: string
): Effect.fn.Return<ProvidedClusters, never, Scope.Scope> {
  const found = new FoundClusters()
  const reflector = yield* makeReflector(
    api,
    secrets,
    (secret, deleted) => {
      const { name } = secret.metadata
      found.set(name, deleted ? undefined : inSecret(secret, name, kubeconfigSecretUse))
    },
    kubeconfigSelection(namespace)
  )
  yield* awaitFirstList(reflector, "kubeconfig Secrets")
  return found
})
