/**
 * Runs the controllers of Deployments, ReplicaSets, StatefulSets and Jobs on a store: watches, a queue, timers. Each
 * kind has its rules in a file of its own. The garbage collector of the store removes the pods of deleted owners.
 */

import { Clock, Duration, Effect, FiberMap, Queue, type Scope } from "effect"
import type { KubeObject, ResourceRef } from "../schema/kube-object.ts"
import type { ObjectStore } from "../store/object-store.ts"
import { deployments, jobs, pods, replicaSets, statefulSets } from "../store/resource-refs.ts"
import { controllerOf, find, nameOf, namespaceOf } from "../store/store-access.ts"
import { reconcileDeployment } from "./deployment.ts"
import { reconcileJob } from "./job.ts"
import { reconcileReplicaSet } from "./replica-set.ts"
import { reconcileStatefulSet } from "./stateful-set.ts"

/** Returns the milliseconds after which it must be called again. */
type Reconcile = (store: ObjectStore, object: KubeObject, now: number) => number | undefined

const kinds: Readonly<Record<string, { readonly ref: ResourceRef; readonly reconcile: Reconcile }>> = {
  Deployment: { ref: deployments, reconcile: (store, object, now) => void reconcileDeployment(store, object, now) },
  ReplicaSet: { ref: replicaSets, reconcile: (store, object) => void reconcileReplicaSet(store, object) },
  StatefulSet: { ref: statefulSets, reconcile: (store, object) => void reconcileStatefulSet(store, object) },
  Job: { ref: jobs, reconcile: reconcileJob }
}

/**
 * Runs until the scope closes. Level-triggered: a change of a workload or of an object that it owns leads to a
 * reconciliation of the workload's current state.
 */
export const startWorkloadControllers = (store: ObjectStore): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const queue = yield* Queue.unbounded<string>()
    const queued = new Set<string>()
    const timers = yield* FiberMap.make<string>()
    const enqueue = (kind: string, namespace: string, name: string): void => {
      const key = `${kind}/${namespace}/${name}`
      if (queued.has(key)) return
      queued.add(key)
      Queue.offerUnsafe(queue, key)
    }
    const changed = (object: KubeObject): void => {
      const owner = controllerOf(object)
      if (kinds[object.kind] !== undefined) enqueue(object.kind, namespaceOf(object), nameOf(object))
      const kind = owner === undefined ? undefined : kinds[owner.kind]
      if (owner === undefined || kind === undefined) return
      enqueue(owner.kind, namespaceOf(object), owner.name)
      // A Deployment with strategy Recreate waits for pods that its ReplicaSets no longer count.
      const between = find(store, kind.ref, namespaceOf(object), owner.name)
      const top = between === undefined ? undefined : controllerOf(between)
      if (top !== undefined && kinds[top.kind] !== undefined) enqueue(top.kind, namespaceOf(object), top.name)
    }
    for (const ref of [...Object.values(kinds).map((kind) => kind.ref), pods]) {
      yield* Effect.acquireRelease(
        Effect.sync(() => store.watch(ref, {}, (event) => changed(event.object))),
        (unwatch) => Effect.sync(unwatch)
      )
    }
    const reconcile = Effect.fnUntraced(function* (key: string) {
      queued.delete(key)
      const [kindName = "", namespace = "", name = ""] = key.split("/")
      const kind = kinds[kindName]
      const object = kind === undefined ? undefined : find(store, kind.ref, namespace, name)
      if (kind === undefined || object === undefined) return
      const delay = kind.reconcile(store, object, clock.currentTimeMillisUnsafe())
      if (delay === undefined) return
      const later = Effect.sleep(Duration.millis(delay)).pipe(
        Effect.andThen(Effect.sync(() => enqueue(kindName, namespace, name)))
      )
      yield* FiberMap.run(timers, key, later)
    })
    yield* Effect.forkScoped(
      Queue.take(queue).pipe(
        Effect.flatMap((key) =>
          reconcile(key).pipe(
            Effect.catchDefect((defect) => Effect.logError(`workload controller: ${key} failed`, defect))
          )
        ),
        Effect.forever
      )
    )
  })
