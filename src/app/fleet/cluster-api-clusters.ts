/**
 * Finds the clusters of Cluster API in one namespace: a `Cluster` whose control plane has been up joins with the
 * kubeconfig in its Secret, and leaves when it is deleted. Of each cluster this one Secret alone is read, not the keys
 * of its authorities beside it.
 *
 * Not here: which clusters can be used (domain/fleet/cluster-api.ts), and who joins the fleet (domain/fleet/
 * provided-clusters.ts).
 */

import { Effect, Exit, Queue, Scope } from "effect"
import {
  clusterApiClusters,
  clusterApiKey,
  clusterApiSecret,
  type ClusterApiVersion,
  clusterApiVersions,
  isProvisioned
} from "../../domain/fleet/cluster-api.ts"
import { secrets } from "../../domain/resources/core-kinds.ts"
import type { KubeApi, KubeError, KubeObject } from "../../ports/kube-api.ts"
import { makeReflector, type Reflector } from "../kernel/reflector.ts"
import { awaitFirstList } from "./await-first-list.ts"
import { FoundClusters, inSecret, type ProvidedClusters, type SecretUse } from "./found-clusters.ts"
import { type Place, servedVersion, whenServed } from "./when-served.ts"

export const clusterApiSecretUse: SecretUse = {
  key: clusterApiKey,
  from: (name, namespace) => `Cluster ${namespace}/${name}`
}

/** The newest version that the API server serves; undefined: Cluster API is not installed there. */
export const servedClusterApi = (place: Place): Effect.Effect<ClusterApiVersion | undefined, KubeError> =>
  servedVersion(place, clusterApiVersions, clusterApiClusters)

/** The Secret of one cluster, which is followed while the scope lives. */
const followSecret = Effect.fnUntraced(function* ({ api, namespace }: Place, cluster: string, found: FoundClusters) {
  const name = clusterApiSecret(cluster)
  yield* Effect.addFinalizer(() => Effect.sync(() => found.set(cluster, undefined)))
  const take = (secret: KubeObject, deleted: boolean): void =>
    found.set(cluster, deleted ? undefined : inSecret(secret, cluster, clusterApiSecretUse))
  return yield* makeReflector(api, secrets, take, { namespace, name })
})

interface Followed {
  readonly scope: Scope.Closeable
  readonly secret: Reflector
}

/** Follows the `Cluster` objects and their Secrets while the scope lives; completes when they are known. */
const follow = Effect.fnUntraced(function* (place: Place, version: ClusterApiVersion, found: FoundClusters) {
  const { api, namespace } = place
  const all = yield* Effect.scope
  const wake = yield* Queue.sliding<void>(1)
  const followed = new Map<string, Followed>()
  const clusters = yield* makeReflector(
    api,
    clusterApiClusters(version),
    () => void Queue.offerUnsafe(wake, undefined),
    { namespace }
  )
  const takeUp = Effect.gen(function* () {
    const names = new Set(clusters.all().flatMap((one) => (isProvisioned(one) ? [one.metadata.name] : [])))
    for (const [name, { scope }] of followed) {
      if (names.has(name)) continue
      followed.delete(name)
      yield* Scope.close(scope, Exit.void)
    }
    for (const name of names) {
      if (followed.has(name)) continue
      const scope = yield* Scope.fork(all)
      const secret = yield* followSecret(place, name, found).pipe(Scope.provide(scope))
      followed.set(name, { scope, secret })
    }
  })
  yield* awaitFirstList(clusters, "clusters of Cluster API")
  yield* takeUp
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Queue.take(wake), () => takeUp)))
  for (const { secret } of followed.values()) yield* awaitFirstList(secret, "kubeconfig Secrets of Cluster API")
})

/**
 * The clusters of Cluster API, for as long as the scope lives; completes when they are known. Where it is not installed
 * there are none, and it is looked for again.
 */
export const clusterApi = Effect.fnUntraced(function* (
  api: KubeApi,
  namespace: string
): Effect.fn.Return<ProvidedClusters, never, Scope.Scope> {
  const place = { api, namespace }
  const found = new FoundClusters()
  const served = servedClusterApi(place)
  yield* whenServed({ what: "Cluster API", namespace, served, follow: (version) => follow(place, version, found) })
  return found
})
