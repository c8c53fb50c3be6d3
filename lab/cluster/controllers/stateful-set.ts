/**
 * StatefulSets → pods `<name>-0…`, in order. Simpler than a real controller: `volumeClaimTemplates` become volumes that
 * keep their content on the node, without PersistentVolumeClaim objects, and partitions are ignored.
 */

import { asNumber, asObject, asObjects, asString, at } from "../../../src/domain/json.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import type { ObjectStore } from "../store/object-store.ts"
import { pods, statefulSets } from "../store/resource-refs.ts"
import { ifPresent, isPodReady, nameOf, setStatus, uidOf } from "../store/store-access.ts"
import { createPod, isActive, ownedPods, readyCount, templateHash } from "./pod-template.ts"

const revisionLabel = "controller-revision-hash"

const ordinalOf = (pod: KubeObject): number => Number(/-([0-9]+)$/u.exec(nameOf(pod))?.[1] ?? -1)

/**
 * Starts each pod when the previous pod is ready (`Parallel`: all at once); removes and updates from the highest
 * ordinal. A pod that is being deleted or has ended keeps its name until it is gone.
 */
export const reconcileStatefulSet = (store: ObjectStore, set: KubeObject): void => {
  const spec = asObject(set["spec"])
  const wanted = asNumber(spec["replicas"]) ?? 1
  const revision = `${nameOf(set)}-${templateHash(spec["template"])}`
  const parallel = spec["podManagementPolicy"] === "Parallel"
  const remove = (pod: KubeObject): void => {
    ifPresent(() => store.delete(pods, pod.metadata.namespace, nameOf(pod), { uid: uidOf(pod) }))
  }
  if (set.metadata.deletionTimestamp === undefined) {
    const existing = ownedPods(store, set).toSorted((a, b) => ordinalOf(b) - ordinalOf(a))
    const going = existing.filter((pod) => pod.metadata.deletionTimestamp !== undefined)
    for (const pod of existing) if (!isActive(pod) && pod.metadata.deletionTimestamp === undefined) remove(pod)
    const surplus = existing.filter((pod) => ordinalOf(pod) >= wanted && isActive(pod))
    if (parallel || going.length === 0) for (const pod of surplus.slice(0, parallel ? undefined : 1)) remove(pod)

    let waiting = false
    for (let ordinal = 0; ordinal < wanted && !waiting; ordinal++) {
      const pod = existing.find((candidate) => ordinalOf(candidate) === ordinal)
      if (pod === undefined) create(store, set, ordinal, revision)
      waiting = !parallel && (pod === undefined || !isPodReady(pod) || !isActive(pod))
    }
    const outdated = existing.find((pod) => isActive(pod) && pod.metadata.labels?.[revisionLabel] !== revision)
    const onDelete = at(spec, "updateStrategy", "type") === "OnDelete"
    // One at a time, but a pod that is not ready is replaced in any case: it may never become ready.
    if (!onDelete && outdated !== undefined && going.length === 0 && (!waiting || !isPodReady(outdated)))
      remove(outdated)
  }
  const now = ownedPods(store, set).filter(isActive)
  const updated = now.filter((pod) => pod.metadata.labels?.[revisionLabel] === revision)
  const before = asString(asObject(set["status"])["currentRevision"]) ?? revision
  setStatus(store, statefulSets, set, {
    observedGeneration: set.metadata.generation ?? 1,
    replicas: now.length,
    readyReplicas: readyCount(now),
    availableReplicas: readyCount(now),
    currentReplicas: now.filter((pod) => pod.metadata.labels?.[revisionLabel] === before).length,
    updatedReplicas: updated.length,
    currentRevision: updated.length === wanted && now.length === wanted ? revision : before,
    updateRevision: revision
  })
}

const create = (store: ObjectStore, set: KubeObject, ordinal: number, revision: string): void => {
  const name = `${nameOf(set)}-${ordinal}`
  const spec = asObject(set["spec"])
  const claims = asObjects(spec["volumeClaimTemplates"]).map((claim) => {
    const claimName = String(at(claim, "metadata", "name"))
    return { name: claimName, persistentVolumeClaim: { claimName: `${claimName}-${name}` } }
  })
  const subdomain = asString(spec["serviceName"])
  createPod(store, set, {
    name: { name },
    labels: {
      [revisionLabel]: revision,
      "statefulset.kubernetes.io/pod-name": name,
      "apps.kubernetes.io/pod-index": String(ordinal)
    },
    spec: {
      hostname: name,
      ...(subdomain === undefined ? {} : { subdomain }),
      volumes: [...asObjects(at(spec, "template", "spec", "volumes")), ...claims]
    }
  })
}
