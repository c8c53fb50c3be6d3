/**
 * Adds the clusters that the operator finds by itself to an installation, so that they are examined as the configured
 * ones are.
 *
 * Not here: the clusters of the installation's files (installation.ts).
 */

import { Effect, Result } from "effect"
import { failed, warning } from "../../../domain/commands/doctor/finding.ts"
import { clusterApiClusters, clusterApiSecret, isProvisioned } from "../../../domain/fleet/cluster-api.ts"
import { clusterProfiles, profileCluster } from "../../../domain/fleet/cluster-profile.ts"
import { type ClusterProvider, type ProvidedCluster, withProvided } from "../../../domain/fleet/provided-clusters.ts"
import { secrets } from "../../../domain/resources/core-kinds.ts"
import type { KubeError } from "../../../ports/kube-api.ts"
import { clusterApiSecretUse, servedClusterApi } from "../../fleet/cluster-api-clusters.ts"
import { inSecret, providedBy } from "../../fleet/found-clusters.ts"
import { contextsIn, filesIn, type ReadFiles } from "../../fleet/kubeconfig-files.ts"
import { kubeconfigSecretUse, kubeconfigSelection } from "../../fleet/kubeconfig-secrets.ts"
import { sha256Hex } from "../../kernel/sha256-hex.ts"
import type { Installation } from "./installation.ts"

interface FoundNow {
  readonly clusters: ReadonlyArray<ProvidedCluster>
  /** Why others are missing, one sentence each. */
  readonly problems: ReadonlyArray<string>
}

/** The clusters that a provider finds now. */
type Look = (installation: Pick<Installation, "own" | "namespace" | "search">) => Effect.Effect<FoundNow, KubeError>

const withoutProblems = (clusters: ReadonlyArray<ProvidedCluster>): FoundNow => ({ clusters, problems: [] })

const filesNow = (read: ReadFiles): Effect.Effect<FoundNow> =>
  read.pipe(
    Effect.map(({ clusters, problems }) => ({
      clusters: [...clusters].map(([name, found]) => providedBy(name, found)),
      problems
    })),
    Effect.catch((problem) => Effect.succeed({ clusters: [], problems: [problem] }))
  )

const clusterApiNow: Look = Effect.fnUntraced(function* ({ own, search: { clusterApiNamespace: namespace } }) {
  const version = yield* servedClusterApi({ api: own, namespace })
  if (version === undefined) return withoutProblems([])
  const { items } = yield* own.list(clusterApiClusters(version), { namespace })
  const found = yield* Effect.forEach(items.filter(isProvisioned), ({ metadata: { name } }) =>
    Effect.map(own.list(secrets, { namespace, name: clusterApiSecret(name) }), ({ items: [secret] }) =>
      secret === undefined ? [] : [providedBy(name, inSecret(secret, name, clusterApiSecretUse))]
    )
  )
  return withoutProblems(found.flat())
})

const clusterProfilesNow: Look = ({ own, search: { accessProviders, clusterProfileNamespace: namespace } }) =>
  own.list(clusterProfiles, { namespace }).pipe(
    Effect.map(({ items }) => items.flatMap((profile) => profileCluster(profile, accessProviders) ?? [])),
    Effect.catch((error) => (error.reason === "NotFound" ? Effect.succeed([]) : Effect.fail(error))),
    Effect.map(withoutProblems)
  )

interface Looking {
  /** The place, the beginning of a sentence. */
  readonly at: (installation: Installation) => string
  /** Whether only the operator's pod has the place. */
  readonly isInPod?: true
  readonly look: Look
}

const looks: Readonly<Record<ClusterProvider, Looking>> = {
  kubeconfigSecrets: {
    at: ({ namespace }) => `The Secrets with kubeconfigs in namespace ${namespace}`,
    look: ({ namespace, own }) =>
      Effect.map(own.list(secrets, kubeconfigSelection(namespace)), ({ items }) =>
        withoutProblems(
          items.map((secret) => {
            const { name } = secret.metadata
            return providedBy(name, inSecret(secret, name, kubeconfigSecretUse))
          })
        )
      )
  },
  kubeconfigFile: {
    at: ({ search: { kubeconfigFile } }) => `The kubeconfig ${kubeconfigFile}`,
    isInPod: true,
    look: ({ search: { kubeconfigFile } }) => filesNow(contextsIn(kubeconfigFile))
  },
  kubeconfigDirectory: {
    at: ({ search: { kubeconfigDirectory } }) => `The kubeconfigs in ${kubeconfigDirectory}`,
    isInPod: true,
    look: ({ search: { kubeconfigDirectory } }) => filesNow(filesIn(kubeconfigDirectory))
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

/** The chosen ways to look; `seen`: those that can be gone from where the installation is seen. */
const chosen = ({ search, seenFrom }: Installation) => {
  const all = [...new Set(search.providers)].map((provider) => looks[provider])
  const isSeen = ({ isInPod }: Looking): boolean => isInPod === undefined || seenFrom === "operator"
  return { seen: all.filter(isSeen), unseen: all.filter((one) => !isSeen(one)) }
}

/** All clusters that the operator finds now, as far as they can be seen from here. */
export const foundClusters = (installation: Installation): Effect.Effect<ReadonlyArray<ProvidedCluster>, KubeError> =>
  Effect.map(
    Effect.forEach(chosen(installation).seen, ({ look }) => look(installation)),
    (found) => found.flatMap(({ clusters }) => clusters)
  )

export const withFoundClusters = Effect.fnUntraced(function* (
  installation: Installation
): Effect.fn.Return<Installation> {
  const { fleet } = installation
  if (fleet === undefined) return installation
  const ways = chosen(installation)
  const unseen = ways.unseen.map(({ at }) =>
    warning(
      "configuration",
      `${at(installation)} can be read in the operator's pod alone, so its clusters are not examined.`,
      "Run this as the operator: helm test."
    )
  )
  const seen = yield* Effect.forEach(ways.seen, ({ at, look }) =>
    Effect.map(Effect.result(look(installation)), (found) => ({ what: at(installation), found }))
  )
  const unread = seen.flatMap(({ found, what }) => {
    if (Result.isSuccess(found))
      return found.success.problems.map((problem) =>
        failed("configuration", problem, "Change the Secret that is mounted there.")
      )
    const fix = "Use a kubeconfig that may list them, or run this as the operator: helm test."
    return [failed("configuration", `${what} cannot be read: ${found.failure.detail}.`, fix)]
  })
  const provided = seen.flatMap(({ found }) => (Result.isSuccess(found) ? found.success.clusters : []))
  const { configuration, refused } = withProvided(fleet, provided, sha256Hex)
  const clashes = refused.map((problem) => failed("configuration", problem, "Rename one of the two clusters."))
  return {
    ...installation,
    fleet: configuration,
    findings: [...installation.findings, ...unseen, ...unread, ...clashes]
  }
})
