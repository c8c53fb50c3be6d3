/**
 * Adds the clusters that the operator finds by itself to an installation, so that they are examined as the configured
 * ones are.
 *
 * Not here: the clusters of the installation's files (installation.ts).
 */

import { Effect, Result } from "effect"
import { failed } from "../../../domain/doctor/finding.ts"
import { clusterApiClusters, clusterApiSecret, isProvisioned } from "../../../domain/fleet/cluster-api.ts"
import { clusterProfiles, profileCluster } from "../../../domain/fleet/cluster-profile.ts"
import { type ClusterProvider, type ProvidedCluster, withProvided } from "../../../domain/fleet/provided-clusters.ts"
import { secrets } from "../../../domain/resources/core-kinds.ts"
import type { KubeError } from "../../../ports/kube-api.ts"
import { clusterApiSecretUse, servedClusterApi } from "../../fleet/cluster-api-clusters.ts"
import { providedBy } from "../../fleet/found-clusters.ts"
import { kubeconfigSecretUse, kubeconfigSelection } from "../../fleet/kubeconfig-secrets.ts"
import { sha256Hex } from "../../kernel/sha256-hex.ts"
import type { Installation } from "./installation.ts"

/** The clusters that a provider finds now. */
type Look = (
  installation: Pick<Installation, "own" | "namespace" | "search">
) => Effect.Effect<ReadonlyArray<ProvidedCluster>, KubeError>

const clusterApiNow: Look = ({ own, search: { clusterApiNamespace: namespace } }) =>
  Effect.gen(function* () {
    const version = yield* servedClusterApi({ api: own, namespace })
    if (version === undefined) return []
    const { items } = yield* own.list(clusterApiClusters(version), { namespace })
    const found = yield* Effect.forEach(items.filter(isProvisioned), ({ metadata: { name } }) =>
      Effect.map(own.list(secrets, { namespace, name: clusterApiSecret(name) }), ({ items: [secret] }) =>
        secret === undefined ? [] : [providedBy(secret, name, clusterApiSecretUse)]
      )
    )
    return found.flat()
  })

const clusterProfilesNow: Look = ({ own, search: { accessProviders, clusterProfileNamespace: namespace } }) =>
  own.list(clusterProfiles, { namespace }).pipe(
    Effect.map(({ items }) => items.flatMap((profile) => profileCluster(profile, accessProviders) ?? [])),
    Effect.catch((error) => (error.reason === "NotFound" ? Effect.succeed([]) : Effect.fail(error)))
  )

const looks: Readonly<Record<ClusterProvider, { readonly at: (search: Installation) => string; readonly look: Look }>> =
  {
    kubeconfigSecrets: {
      at: ({ namespace }) => `The Secrets with kubeconfigs in namespace ${namespace}`,
      look: ({ namespace, own }) =>
        Effect.map(own.list(secrets, kubeconfigSelection(namespace)), ({ items }) =>
          items.map((secret) => providedBy(secret, secret.metadata.name, kubeconfigSecretUse))
        )
    },
    clusterApi: {
      at: ({ search: { clusterApiNamespace } }) => `The clusters of Cluster API in namespace ${clusterApiNamespace}`,
      look: clusterApiNow
    },
    clusterProfile: {
      at: ({ search: { clusterProfileNamespace } }) => `The ClusterProfiles in namespace ${clusterProfileNamespace}`,
      look: clusterProfilesNow
    }
  }

const chosen = ({ search }: Installation) => [...new Set(search.providers)].map((provider) => looks[provider])

/** All clusters that the operator finds now. */
export const foundClusters = (installation: Installation): Effect.Effect<ReadonlyArray<ProvidedCluster>, KubeError> =>
  Effect.map(
    Effect.forEach(chosen(installation), ({ look }) => look(installation)),
    (found) => found.flat()
  )

export const withFoundClusters = (installation: Installation): Effect.Effect<Installation> =>
  Effect.gen(function* () {
    const { fleet } = installation
    if (fleet === undefined) return installation
    const seen = yield* Effect.forEach(chosen(installation), ({ at, look }) =>
      Effect.map(Effect.result(look(installation)), (found) => ({ what: at(installation), found }))
    )
    const unread = seen.flatMap(({ found, what }) => {
      if (Result.isSuccess(found)) return []
      const fix = "Use a kubeconfig that may list them, or run this as the operator: helm test."
      return [failed("configuration", `${what} cannot be read: ${found.failure.detail}.`, fix)]
    })
    const provided = seen.flatMap(({ found }) => (Result.isSuccess(found) ? found.success : []))
    const { configuration, refused } = withProvided(fleet, provided, sha256Hex)
    const told = refused.map((problem) => failed("configuration", problem, "Rename one of the two clusters."))
    return { ...installation, fleet: configuration, findings: [...installation.findings, ...unread, ...told] }
  })
