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
import { type AdmitPod, PodCreator } from "./pod-creator.ts"
import { reconcileReplicaSet, selectsPod } from "./replica-set.ts"
import { reconcileStatefulSet } from "./stateful-set.ts"

/** Returns the milliseconds after which it must be called again. */
type Reconcile = (creator: PodCreator, object: KubeObject, now: number) => number | undefined

const kinds: Readonly<Record<string, { readonly ref: ResourceRef; readonly reconcile: Reconcile }>> = {
  Deployment: { ref: deployments, reconcile: ({ store }, object, now) => void reconcileDeployment(store, object, now) },
  ReplicaSet: { ref: replicaSets, reconcile: (creator, object) => void reconcileReplicaSet(creator, object) },
  StatefulSet: { ref: statefulSets, reconcile: (creator, object) => void reconcileStatefulSet(creator, object) },
  Job: { ref: jobs, reconcile: reconcileJob }
}

/** The wait before a refused pod is tried again, in ms. A real controller begins shorter and ends longer. */
const retryMs = 1_000

/**
 * Runs until the scope closes. Level-triggered: a change of a workload or of an object that it owns leads to a
 * reconciliation of the workload's current state. Without `admit` pods meet no webhook.
 */
export const startWorkloadControllers = (
  store: ObjectStore,
  admit: AdmitPod = () => undefined
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.gen(function* () {
    const run = Effect.runForkWith(yield* Effect.context<never>())
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
      if (object.kind === "Pod" && owner === undefined)
        for (const set of store.list(replicaSets, { namespace: namespaceOf(object) }).items)
          if (selectsPod(set, object)) enqueue("ReplicaSet", namespaceOf(set), nameOf(set))
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
    const later = (kind: string, object: KubeObject, delay: number) => {
      const [namespace, name] = [namespaceOf(object), nameOf(object)]
      const again = Effect.andThen(
        Effect.sleep(Duration.millis(delay)),
        Effect.sync(() => enqueue(kind, namespace, name))
      )
      return FiberMap.run(timers, `${kind}/${namespace}/${name}`, again)
    }
    const failed = (owner: KubeObject, error: unknown): void => {
      const problem = Effect.logError(`workload controller: no pod for ${owner.kind} ${nameOf(owner)}`, error)
      run(Effect.andThen(problem, later(owner.kind, owner, retryMs)))
    }
    const creator = new PodCreator({ store, admit, failed })
    const reconcile = Effect.fnUntraced(function* (key: string) {
      queued.delete(key)
      const [kindName = "", namespace = "", name = ""] = key.split("/")
      const kind = kinds[kindName]
      const object = kind === undefined ? undefined : find(store, kind.ref, namespace, name)
      if (kind === undefined || object === undefined) return
      const delay = kind.reconcile(creator, object, clock.currentTimeMillisUnsafe())
      if (delay !== undefined) yield* later(kindName, object, delay)
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
