import { Clock, Duration, Effect, FiberMap, Queue, type Scope } from "effect"
import type { KubeObject, ResourceRef } from "../schema/kube-object.ts"
import type { ObjectStore } from "../store/object-store.ts"
import { deployments, jobs, pods, replicaSets, statefulSets } from "../store/resources.ts"
import { controllerOf, find, nameOf, namespaceOf } from "../store/store-access.ts"
import { reconcileDeployment } from "./deployment.ts"
import { reconcileJob } from "./job.ts"
import { reconcileReplicaSet } from "./replica-set.ts"
import { reconcileStatefulSet } from "./stateful-set.ts"

/** Returns after how many milliseconds it wants to be called again. */
type Reconcile = (store: ObjectStore, object: KubeObject, now: number) => number | undefined

const kinds: Readonly<Record<string, { readonly ref: ResourceRef; readonly reconcile: Reconcile }>> = {
  Deployment: { ref: deployments, reconcile: (store, object, now) => void reconcileDeployment(store, object, now) },
  ReplicaSet: { ref: replicaSets, reconcile: (store, object) => void reconcileReplicaSet(store, object) },
  StatefulSet: { ref: statefulSets, reconcile: (store, object) => void reconcileStatefulSet(store, object) },
  Job: { ref: jobs, reconcile: reconcileJob }
}

/**
 * Deployments, ReplicaSets, StatefulSets and Jobs → Pods, until the scope closes. Level-triggered: each change of a
 * workload or of an object it owns is one look at the workload as it is then. Deleted owners' pods are the garbage
 * collector's business.
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
      // A Deployment with strategy Recreate waits for the end of pods that its ReplicaSets do not count any more.
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
    const look = Effect.fnUntraced(function* (key: string) {
      queued.delete(key)
      const [kindName = "", namespace = "", name = ""] = key.split("/")
      const kind = kinds[kindName]
      const object = kind === undefined ? undefined : find(store, kind.ref, namespace, name)
      if (kind === undefined || object === undefined) return
      const again = kind.reconcile(store, object, clock.currentTimeMillisUnsafe())
      if (again === undefined) return
      const later = Effect.sleep(Duration.millis(again)).pipe(
        Effect.andThen(Effect.sync(() => enqueue(kindName, namespace, name)))
      )
      yield* FiberMap.run(timers, key, later)
    })
    yield* Effect.forkScoped(
      Queue.take(queue).pipe(
        Effect.flatMap((key) =>
          look(key).pipe(Effect.catchDefect((defect) => Effect.logError(`workload controller: ${key} failed`, defect)))
        ),
        Effect.forever
      )
    )
  })
