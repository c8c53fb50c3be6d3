/**
 * Configurations of queue splits, as a capability of a primary: users write them on the primary, and every member has
 * copies. The primary's own cluster needs none.
 *
 * Not here: the copies in one member (configuration-copies.ts).
 */

import { Effect, Layer, type Scope } from "effect"
import type { ClusterName } from "../../../domain/fleet/cluster-name.ts"
import { syncedConfigurationKinds } from "../../../domain/queues/configuration-sync-plan.ts"
import type { KubeApi } from "../../../ports/kube-api.ts"
import { Changes } from "../../kernel/change-feed.ts"
import { knownClusterUid } from "../../kernel/cluster-uid.ts"
import { Events } from "../../kernel/event-recorder.ts"
import { keyOfObject } from "../../kernel/planned-controller.ts"
import { makeReflector } from "../../kernel/reflector.ts"
import { withCapability } from "../../services/capability.ts"
import { keepEngaged } from "../../services/engaged-clusters.ts"
import { FleetView } from "../../services/fleet-view.ts"
import { OwnCluster } from "../../services/own-cluster.ts"
import { QueueSplitting } from "../queue-splitting.ts"
import { type ConfigurationCopies, makeConfigurationCopies, type Originals } from "./configuration-copies.ts"

type CopiesByCluster = Map<ClusterName, ReadonlyArray<ConfigurationCopies>>

/** How long the copies in a cluster that has left the fleet may take to be deleted. */
const leaveWithin = "4 seconds"

/** Follows the configurations of this cluster for as long as the scope lives. */
const followOriginals = Effect.fnUntraced(function* (engaged: CopiesByCluster) {
  const { api } = yield* OwnCluster
  const events = yield* Events
  const primaryUid = yield* knownClusterUid(api, "configurations of queue splits wait for the identity of this cluster")
  return yield* Effect.forEach(syncedConfigurationKinds, (resource, index) =>
    Effect.gen(function* () {
      const cache = yield* makeReflector(api, resource, (object) => {
        for (const copies of engaged.values()) copies[index]?.enqueue(keyOfObject(object))
      })
      const enqueueAll = Effect.sync(() => {
        for (const copies of engaged.values()) copies[index]?.enqueueAll()
      })
      // Before all originals are known, no copy is without one.
      yield* Effect.forkScoped(Effect.andThen(cache.awaitSynced, enqueueAll))
      return { resource, api, primaryUid, cache, events } satisfies Originals
    })
  )
})

interface SplitSyncOptions {
  readonly ownCluster: ClusterName
  readonly engaged: CopiesByCluster
  readonly clusters: FleetView["Service"]["clusters"]
}

/** Keeps copies in all members that can be reached. The result looks at all of them again. */
const keepCopies = Effect.fnUntraced(function* (
  { clusters, engaged, ownCluster }: SplitSyncOptions,
  originals: ReadonlyArray<Originals>
): Effect.fn.Return<() => void, never, Scope.Scope> {
  const wanted = (): ReadonlyMap<ClusterName, KubeApi> =>
    new Map(
      clusters().flatMap(({ api, name }) => {
        const reached = name === ownCluster ? undefined : api()
        return reached === undefined ? [] : [[name, reached] as const]
      })
    )
  return yield* keepEngaged({
    wanted,
    engage: Effect.fnUntraced(function* (cluster, api) {
      const lost = (): string | undefined => {
        const found = clusters().find(({ name }) => name === cluster)
        return found === undefined ? "it has left the fleet" : found.lost()
      }
      const copies = yield* Effect.forEach(originals, (one) => makeConfigurationCopies(one, { cluster, api, lost }))
      engaged.set(cluster, copies)
      yield* Effect.addFinalizer(() => Effect.sync(() => engaged.delete(cluster)))
    }),
    failed: "members could not be engaged for configurations of queue splits"
  })
})

/** Starts as soon as this cluster's identity is known. */
const makeSplitSync = Effect.fnUntraced(function* (options: SplitSyncOptions) {
  const { engaged } = options
  let lookAgain = (): void => {}
  const start = Effect.gen(function* () {
    lookAgain = yield* keepCopies(options, yield* followOriginals(engaged))
  })
  yield* Effect.forkScoped(Effect.andThen(start, Effect.never))
  /** The change of the fleet waits for this, and cannot be interrupted. */
  const leave = (cluster: ClusterName): Effect.Effect<void> => {
    const all = Effect.forEach(engaged.get(cluster) ?? [], (copies) => copies.leave, { discard: true })
    return Effect.asVoid(Effect.timeoutOption(Effect.interruptible(all), leaveWithin))
  }
  const clusterChanged = (cluster: ClusterName): void => {
    for (const copies of engaged.get(cluster) ?? []) copies.enqueueAll()
    lookAgain()
  }
  ;(yield* Changes).beforeLeaving(leave)
  return clusterChanged
})

/** An operator without a fleet, or one that splits no queues, copies nothing. */
export const splitSyncLayer = Layer.effectContext(
  Effect.gen(function* () {
    const { fleet } = yield* OwnCluster
    const { clusters } = yield* FleetView
    const { options } = yield* QueueSplitting
    if (fleet === undefined || options === undefined) return yield* withCapability({})
    const clusterChanged = yield* makeSplitSync({ ownCluster: fleet.clusterName, clusters, engaged: new Map() })
    return yield* withCapability({
      hear: (change) => {
        if (change._tag === "ClusterChanged") clusterChanged(change.cluster)
      }
    })
  })
)
