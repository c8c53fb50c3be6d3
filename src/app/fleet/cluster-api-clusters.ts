/**
 * Finds the clusters of Cluster API in one namespace: a `Cluster` whose control plane has been up joins with the
 * kubeconfig in its Secret, and leaves when it is deleted. Of each cluster this one Secret alone is read, not the keys
 * of its authorities beside it.
 *
 * Not here: which clusters can be used (domain/fleet/cluster-api.ts), and who joins the fleet (domain/fleet/
 * provided-clusters.ts).
 */

import { Effect, Exit, Queue, Schedule, Scope } from "effect"
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
import { LogOnce } from "../kernel/log-once.ts"
import { logWarning } from "../kernel/log.ts"
import { makeReflector, type Reflector } from "../kernel/reflector.ts"
import { awaitFirstList, tellEvery } from "./await-first-list.ts"
import { FoundClusters, inSecret, type ProvidedClusters, type SecretUse } from "./found-clusters.ts"

export const clusterApiSecretUse: SecretUse = {
  key: clusterApiKey,
  from: (name, namespace) => `Cluster ${namespace}/${name}`
}

/** The place of the `Cluster` objects. `api`: of the operator's own cluster. */
interface Place {
  readonly api: KubeApi
  readonly namespace: string
}

/** The newest version that the API server serves; undefined: Cluster API is not installed there. */
export const servedClusterApi = ({ api, namespace }: Place): Effect.Effect<ClusterApiVersion | undefined, KubeError> =>
  Effect.gen(function* () {
    for (const version of clusterApiVersions) {
      const isServed = yield* api.list(clusterApiClusters(version), { namespace }).pipe(
        Effect.as(true),
        Effect.catch((error) => (error.reason === "NotFound" ? Effect.succeed(false) : Effect.fail(error)))
      )
      if (isServed) return version
    }
    return undefined
  })

/** The same, asked again until there is an answer. Undefined is told as well. */
const answeredVersion = (place: Place, log: LogOnce): Effect.Effect<ClusterApiVersion | undefined> => {
  const tell = (problem: string) =>
    log.tell(problem, logWarning("clusters of Cluster API are not known", { namespace: place.namespace, problem }))
  return servedClusterApi(place).pipe(
    Effect.tapError(({ message }) => tell(message)),
    Effect.retry(Schedule.spaced(tellEvery)),
    Effect.orDie,
    Effect.tap((version) => (version === undefined ? tell("Cluster API is not installed") : Effect.void))
  )
}

/** The Secret of one cluster, which is followed while the scope lives. */
const followSecret = ({ api, namespace }: Place, cluster: string, found: FoundClusters) =>
  Effect.gen(function* () {
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
const follow = (place: Place, version: ClusterApiVersion, found: FoundClusters) =>
  Effect.gen(function* () {
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
export const clusterApi = (api: KubeApi, namespace: string): Effect.Effect<ProvidedClusters, never, Scope.Scope> =>
  Effect.gen(function* () {
    const place = { api, namespace }
    const found = new FoundClusters()
    const log = new LogOnce()
    const begin = (version: ClusterApiVersion | undefined): Effect.Effect<void, never, Scope.Scope> =>
      version === undefined
        ? Effect.asVoid(Effect.forkScoped(Effect.delay(Effect.flatMap(answeredVersion(place, log), begin), tellEvery)))
        : follow(place, version, found)
    yield* Effect.flatMap(answeredVersion(place, log), begin)
    return found
  })
