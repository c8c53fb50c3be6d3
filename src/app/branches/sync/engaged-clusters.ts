/**
 * Engages the clusters whose branches are to be known: the default cluster, and clusters that have been the default
 * until the copies in them have ended.
 */

import { Effect, type Scope } from "effect"
import { copyOf, originOf } from "../../../domain/branches/sync/synced-branch.ts"
import type { ClusterName } from "../../../domain/fleet/cluster-name.ts"
import type { KubeApi } from "../../../ports/kube-api.ts"
import { keyOfObject } from "../../kernel/planned-controller.ts"
import { keepEngaged } from "../../services/engaged-clusters.ts"
import { makeClusterCopies } from "./cluster-copies.ts"
import { type SyncState, viewOf } from "./sync-state.ts"

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
export const keepBranchesKnown = Effect.fnUntraced(function* (
  state: SyncState
): Effect.fn.Return<() => void, never, Scope.Scope> {
  const { engaged, origins } = state
  const planAll = (): void => {
    for (const origin of origins.cache.all()) origins.enqueue(keyOfObject(origin))
  }
  const look = yield* keepEngaged({
    wanted: () => wantedClusters(state),
    engage: Effect.fnUntraced(function* (cluster, api) {
      const copies = yield* makeClusterCopies(state, cluster, api)
      engaged.set(cluster, copies)
      yield* Effect.addFinalizer(() => Effect.sync(() => engaged.delete(cluster)))
      // In a cluster without branches no event tells that all of them are known.
      yield* Effect.forkScoped(Effect.andThen(copies.controller.cache.awaitSynced, Effect.sync(planAll)))
    }),
    failed: "clusters with branches of databases could not be engaged"
  })
  return () => {
    planAll()
    look()
  }
})
