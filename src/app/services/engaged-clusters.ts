/**
 * Engages clusters of a primary's fleet for a capability that has objects in them: each is followed for as long as it
 * is wanted and has the same connection.
 *
 * Not here: connections to clusters (app/fleet), and what is followed in them.
 */

import { Effect, Exit, Queue, Scope } from "effect"
import type { ClusterName } from "../../domain/fleet/cluster-name.ts"
import type { KubeApi } from "../../ports/kube-api.ts"
import { untilDone } from "../kernel/until-done.ts"

/** A connection may be replaced without an event: a cluster that gets new credentials was never lost. */
const lookEvery = "5 seconds"

interface Engagements {
  /** The APIs of the clusters that are to be engaged and can be reached. */
  readonly wanted: () => ReadonlyMap<ClusterName, KubeApi>
  /** Follows a cluster for as long as the scope lives. */
  readonly engage: (cluster: ClusterName, api: KubeApi) => Effect.Effect<void, never, Scope.Scope>
  /** The log's message if they could not be engaged. */
  readonly failed: string
}

/**
 * Keeps the right clusters engaged for as long as the scope lives. The result is called when a cluster may have been
 * lost, have come back or have got another connection.
 */
export const keepEngaged = Effect.fnUntraced(function* ({
  engage,
  failed,
  wanted
}: Engagements): Effect.fn.Return<() => void, never, Scope.Scope> {
  const parent = yield* Effect.scope
  const engaged = new Map<ClusterName, { readonly api: KubeApi; readonly scope: Scope.Closeable }>()
  const changes = yield* Queue.sliding<void>(1)
  const disengage = (cluster: ClusterName): Effect.Effect<void> =>
    Effect.suspend(() => {
      const scope = engaged.get(cluster)?.scope
      engaged.delete(cluster)
      return scope === undefined ? Effect.void : Scope.close(scope, Exit.void)
    })
  const begin = (cluster: ClusterName, api: KubeApi): Effect.Effect<void> =>
    Effect.gen(function* () {
      yield* disengage(cluster)
      const scope = yield* Scope.fork(parent)
      engaged.set(cluster, { api, scope })
      yield* engage(cluster, api).pipe(Scope.provide(scope))
    }).pipe(Effect.uninterruptible)
  const step = Effect.gen(function* () {
    const clusters = wanted()
    for (const cluster of [...engaged.keys()]) if (!clusters.has(cluster)) yield* disengage(cluster)
    for (const [cluster, api] of clusters) if (engaged.get(cluster)?.api !== api) yield* begin(cluster, api)
  })
  const next = Effect.raceFirst(Queue.take(changes), Effect.sleep(lookEvery))
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(untilDone(step, failed), next)))
  return () => void Queue.offerUnsafe(changes, undefined)
})
