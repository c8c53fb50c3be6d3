/**
 * ReplicaSets → pods: as many active pods as `spec.replicas`. Unlike a real controller it adopts no pods without owner.
 * A changed template only counts for new pods: a roll-out is `deployment.ts`'s part.
 */

import { asNumber, asObject } from "../../../src/domain/json.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import type { ObjectStore } from "../store/object-store.ts"
import { pods, replicaSets } from "../store/resource-refs.ts"
import { ifPresent, isPodReady, nameOf, setStatus, uidOf } from "../store/store-access.ts"
import { createPod, isActive, ownedPods, readyCount } from "./pod-template.ts"

/** The order of removal: pods that are not ready, then the youngest. */
const byDispensability = (a: KubeObject, b: KubeObject): number => {
  const readiness = Number(isPodReady(a)) - Number(isPodReady(b))
  if (readiness !== 0) return readiness
  return (b.metadata.creationTimestamp ?? "").localeCompare(a.metadata.creationTimestamp ?? "")
}

export const reconcileReplicaSet = (store: ObjectStore, replicaSet: KubeObject): void => {
  const wanted = asNumber(asObject(replicaSet["spec"])["replicas"]) ?? 1
  const active = ownedPods(store, replicaSet).filter(isActive)
  if (replicaSet.metadata.deletionTimestamp === undefined) {
    for (let missing = wanted - active.length; missing > 0; missing--) {
      createPod(store, replicaSet, { name: { generateName: `${nameOf(replicaSet)}-` } })
    }
    for (const pod of active.toSorted(byDispensability).slice(0, Math.max(0, active.length - wanted))) {
      ifPresent(() => store.delete(pods, pod.metadata.namespace, nameOf(pod), { uid: uidOf(pod) }))
    }
  }
  const now = ownedPods(store, replicaSet).filter(isActive)
  const ready = readyCount(now)
  setStatus(store, replicaSets, replicaSet, {
    replicas: now.length,
    fullyLabeledReplicas: now.length,
    readyReplicas: ready,
    availableReplicas: ready,
    observedGeneration: replicaSet.metadata.generation ?? 1
  })
}
