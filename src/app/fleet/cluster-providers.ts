/**
 * The providers: how a primary finds clusters by itself. Another provider is one file, one row here and one for `braid
 * doctor` (commands/doctor/found-clusters.ts).
 *
 * Not here: who joins the fleet (domain/fleet/provided-clusters.ts).
 */

import { Effect, type Scope } from "effect"
import type { ClusterProvider, ClusterSearch } from "../../domain/fleet/provided-clusters.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import { clusterApi } from "./cluster-api-clusters.ts"
import { clusterProfilesIn } from "./cluster-profiles.ts"
import type { ProvidedClusters } from "./found-clusters.ts"
import { contextsIn, type FileReader, filesIn, filesOfPod, followFiles } from "./kubeconfig-files.ts"
import { kubeconfigSecrets } from "./kubeconfig-secrets.ts"

/** `api`: of the operator's own cluster. `namespace`: the operator's. */
type Provide = (
  api: KubeApi,
  namespace: string,
  search: ClusterSearch,
  reader: FileReader
) => Effect.Effect<ProvidedClusters, never, Scope.Scope>

const providers: Readonly<Record<ClusterProvider, Provide>> = {
  kubeconfigSecrets,
  kubeconfigFile: (_api, _namespace, search, reader) => followFiles(contextsIn(search.kubeconfigFile, reader)),
  kubeconfigDirectory: (_api, _namespace, search, reader) => followFiles(filesIn(search.kubeconfigDirectory, reader)),
  clusterApi: (api, _namespace, { clusterApiNamespace }) => clusterApi(api, clusterApiNamespace),
  clusterProfile: (api, _namespace, { accessProviders, clusterProfileNamespace }) =>
    clusterProfilesIn(api, clusterProfileNamespace, accessProviders)
}

/** Looks for clusters by all chosen providers while the scope lives; completes when all is known. */
export const findClusters = (
  search: ClusterSearch,
  api: KubeApi,
  namespace: string,
  reader: FileReader = filesOfPod
): Effect.Effect<ReadonlyArray<ProvidedClusters>, never, Scope.Scope> =>
  Effect.forEach([...new Set(search.providers)], (provider) => providers[provider](api, namespace, search, reader), {
    concurrency: "unbounded"
  })
