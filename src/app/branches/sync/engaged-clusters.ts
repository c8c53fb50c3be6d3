/**
 * Engages the clusters whose branches are to be known: the default cluster, and clusters that have been the default
 * until the copies in them have ended.
 *
 * Not here: connections to clusters (app/fleet).
 */

import { Effect, Exit, Queue, Scope } from "effect"
import { copyOf, originOf } from "../../../domain/branches/sync/synced-branch.ts"
import type { ClusterName } from "../../../domain/fleet/cluster-name.ts"
import type { KubeApi } from "../../../ports/kube-api.ts"
import { keyOfObject } from "../../kernel/planned-controller.ts"
import { untilDone } from "../../kernel/until-done.ts"
import { makeClusterCopies } from "./cluster-copies.ts"
import { type SyncState, viewOf } from "./sync-state.ts"

/** A connection may be replaced without an event: a cluster that gets new credentials was never lost. */
const lookEvery = "5 seconds"

/** The APIs of the clusters that are to be engaged and can be reached. */
const wantedClusters = ({ engaged, options, origins }: SyncState): ReadonlyMap<ClusterName, KubeApi> => {
  const { clusters, ownCluster, primary } = options
  const named = origins.cache.all().flatMap((object) => {
    const origin = viewOf(object)
    const copy = origin && copyOf(origin)
    return copy === undefined ? [] : [copy.cluster]
  })
  const withCopies = [...engaged.values()]
    .filter(({ controller }) => controller.cache.all().some((copy) => originOf(copy)?.clusterUid === primary.uid))
    .map(({ cluster }) => cluster)
  const names = new Set([...named, ...withCopies])
  return new Map(
    clusters().flatMap(({ api, isDefault, name }) => {
      const reached = name !== ownCluster && (isDefault || names.has(name)) ? api() : undefined
      return reached === undefined ? [] : [[name, reached] as const]
    })
  )
}

/**
 * Keeps the right clusters engaged for as long as the scope lives. The result is called when a cluster may have been
 * lost, have come back or have got another connection.
 */
export const keepEngaged = Effect.fnUntraced(function* (
  state: SyncState
): Effect.fn.Return<() => void, never, Scope.Scope> {
  const { engaged, origins } = state
  const parent = yield* Effect.scope
  const scopes = new Map<ClusterName, Scope.Closeable>()
  const changes = yield* Queue.sliding<void>(1)
  const disengage = (cluster: ClusterName): Effect.Effect<void> =>
    Effect.suspend(() => {
      const scope = scopes.get(cluster)
      engaged.delete(cluster)
      scopes.delete(cluster)
      return scope === undefined ? Effect.void : Scope.close(scope, Exit.void)
    })
  const engage = (cluster: ClusterName, api: KubeApi): Effect.Effect<void> =>
    Effect.gen(function* () {
      yield* disengage(cluster)
      const scope = yield* Scope.fork(parent)
      scopes.set(cluster, scope)
      engaged.set(cluster, yield* makeClusterCopies(state, cluster, api).pipe(Scope.provide(scope)))
      const { cache } = engaged.get(cluster)?.controller ?? origins
      // In a cluster without branches no event tells that all of them are known.
      yield* Effect.forkIn(Effect.andThen(cache.awaitSynced, Effect.sync(planAll)), scope)
    }).pipe(Effect.uninterruptible)
  const planAll = (): void => {
    for (const origin of origins.cache.all()) origins.enqueue(keyOfObject(origin))
  }
  const step = Effect.gen(function* () {
    const wanted = wantedClusters(state)
    for (const cluster of [...engaged.keys()]) if (!wanted.has(cluster)) yield* disengage(cluster)
    for (const [cluster, api] of wanted) if (engaged.get(cluster)?.api !== api) yield* engage(cluster, api)
  })
  const turn = untilDone(step, "clusters with branches of databases could not be engaged")
  const next = Effect.raceFirst(Queue.take(changes), Effect.sleep(lookEvery))
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(turn, next)))
  return () => {
    planAll()
    Queue.offerUnsafe(changes, undefined)
  }
})
