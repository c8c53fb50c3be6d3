/**
 * ReplicaSets → pods: as many active pods as `spec.replicas`, among them adopted ones. A changed template only counts
 * for new pods: a roll-out is `deployment.ts`'s part.
 */

import { asNumber, asObject } from "../../../src/domain/json.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import type { ObjectStore } from "../store/object-store.ts"
import { pods, replicaSets } from "../store/resource-refs.ts"
import { selectsObject } from "../store/selectors.ts"
import {
  controllerOf,
  ifPresent,
  isPodReady,
  nameOf,
  namespaceOf,
  ownedBy,
  setStatus,
  uidOf
} from "../store/store-access.ts"
import type { PodCreator } from "./pod-creator.ts"
import { isActive, ownedPods, readyCount } from "./pod-template.ts"

/** The order of removal: pods that are not ready, then the youngest. */
const byDispensability = (a: KubeObject, b: KubeObject): number => {
  const readiness = Number(isPodReady(a)) - Number(isPodReady(b))
  if (readiness !== 0) return readiness
  return (b.metadata.creationTimestamp ?? "").localeCompare(a.metadata.creationTimestamp ?? "")
}

/** Whether the selector of a ReplicaSet selects a pod. */
export const selectsPod = (replicaSet: KubeObject, pod: KubeObject): boolean =>
  selectsObject(asObject(replicaSet["spec"])["selector"], pod)

/** Adopts active pods that the selector selects and nothing controls; lets own ones go that it selects no more. */
const claimPods = (store: ObjectStore, replicaSet: KubeObject): void => {
  for (const pod of store.list(pods, { namespace: namespaceOf(replicaSet) }).items.filter(isActive)) {
    const owner = controllerOf(pod)
    const isOwn = owner?.uid === uidOf(replicaSet)
    if (isOwn === selectsPod(replicaSet, pod) || (owner !== undefined && !isOwn)) continue
    ifPresent(() =>
      store.modify(pods, pod.metadata.namespace, nameOf(pod), (draft) => {
        const others = (draft.metadata.ownerReferences ?? []).filter(({ uid }) => uid !== uidOf(replicaSet))
        const owners = isOwn ? others : [...others, ownedBy(replicaSet, "apps/v1", "ReplicaSet")]
        if (owners.length === 0) delete draft.metadata.ownerReferences
        else draft.metadata.ownerReferences = owners
      })
    )
  }
}

export const reconcileReplicaSet = (creator: PodCreator, replicaSet: KubeObject): void => {
  const { store } = creator
  const wanted = asNumber(asObject(replicaSet["spec"])["replicas"]) ?? 1
  if (replicaSet.metadata.deletionTimestamp === undefined) {
    claimPods(store, replicaSet)
    const active = ownedPods(store, replicaSet).filter(isActive)
    for (let missing = wanted - active.length - creator.waiting(replicaSet).length; missing > 0; missing--) {
      creator.create(replicaSet, { name: { generateName: `${nameOf(replicaSet)}-` } })
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
