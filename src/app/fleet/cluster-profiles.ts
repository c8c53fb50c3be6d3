/**
 * Finds the clusters of the `ClusterProfile` objects in one namespace. No Secret belongs to them: plugins give their
 * credentials.
 *
 * Not here: which clusters can be used (domain/fleet/cluster-profile.ts), and running plugins (plugin-credentials.ts).
 */

import { Effect, type Scope } from "effect"
import type { AccessProvider } from "../../domain/fleet/access-providers.ts"
import { clusterProfiles, profileCluster } from "../../domain/fleet/cluster-profile.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import { makeReflector } from "../kernel/reflector.ts"
import { awaitFirstList } from "./await-first-list.ts"
import { FoundClusters, type ProvidedClusters } from "./found-clusters.ts"
import { servedVersion, whenServed } from "./when-served.ts"

/** The clusters for as long as the scope lives; completes when they are known. */
export const clusterProfilesIn = Effect.fnUntraced(function* (
  api: KubeApi,
  namespace: string,
  providers: ReadonlyArray<AccessProvider>
): Effect.fn.Return<ProvidedClusters, never, Scope.Scope> {
  const found = new FoundClusters()
  const follow = Effect.gen(function* () {
    const reflector = yield* makeReflector(
      api,
      clusterProfiles,
      (profile, deleted) => {
        const { name } = profile.metadata
        found.setCluster(name, deleted ? undefined : profileCluster(profile, providers))
      },
      { namespace }
    )
    yield* awaitFirstList(reflector, "ClusterProfiles")
  })
  yield* whenServed({
    what: "ClusterProfiles",
    namespace,
    served: servedVersion({ api, namespace }, [clusterProfiles], (ref) => ref),
    follow: () => follow
  })
  return found
})
