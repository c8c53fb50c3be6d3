/**
 * StatefulSets → pods `<name>-0…`, in order. Simpler than a real controller: `volumeClaimTemplates` become volumes that
 * keep their content on the node, without PersistentVolumeClaim objects, and partitions are ignored.
 */

import { asNumber, asObject, asObjects, asString, at } from "../../../src/domain/json.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import type { ObjectStore } from "../store/object-store.ts"
import { pods, statefulSets } from "../store/resource-refs.ts"
import { ifPresent, isPodReady, nameOf, setStatus, uidOf } from "../store/store-access.ts"
import type { PodCreator } from "./pod-creator.ts"
import { isActive, ownedPods, readyCount, templateHash } from "./pod-template.ts"

const revisionLabel = "controller-revision-hash"

const ordinalOf = (pod: KubeObject): number => Number(/-([0-9]+)$/u.exec(nameOf(pod))?.[1] ?? -1)

/** A StatefulSet as it shall be, and what there is of it. */
interface Rollout {
  readonly creator: PodCreator
  readonly store: ObjectStore
  readonly set: KubeObject
  readonly wanted: number
  readonly revision: string
  /** `podManagementPolicy: Parallel` */
  readonly parallel: boolean
  /** Its pods, the highest ordinal first. */
  readonly existing: ReadonlyArray<KubeObject>
}

const isGoing = (pod: KubeObject): boolean => pod.metadata.deletionTimestamp !== undefined

const remove = (store: ObjectStore, pod: KubeObject): void => {
  ifPresent(() => store.delete(pods, pod.metadata.namespace, nameOf(pod), { uid: uidOf(pod) }))
}

/** Removes pods that have ended, and those that are too many: one at a time, unless `parallel`. */
const removeSurplus = ({ existing, parallel, store, wanted }: Rollout): void => {
  for (const pod of existing) if (!isActive(pod) && !isGoing(pod)) remove(store, pod)
  const surplus = existing.filter((pod) => ordinalOf(pod) >= wanted && isActive(pod))
  if (parallel || !existing.some(isGoing))
    for (const pod of surplus.slice(0, parallel ? undefined : 1)) remove(store, pod)
}

/** Creates missing pods; whether a pod is waited for. */
const createMissing = ({ creator, existing, parallel, revision, set, wanted }: Rollout): boolean => {
  let waiting = false
  for (let ordinal = 0; ordinal < wanted && !waiting; ordinal++) {
    const pod = existing.find((candidate) => ordinalOf(candidate) === ordinal)
    if (pod === undefined) create(creator, set, ordinal, revision)
    waiting = !parallel && (pod === undefined || !isPodReady(pod) || !isActive(pod))
  }
  return waiting
}

/** Removes an outdated pod: one at a time, but one that is not ready in any case, since it may never become ready. */
const replaceOutdated = ({ existing, revision, set, store }: Rollout, waiting: boolean): void => {
  const outdated = existing.find((pod) => isActive(pod) && pod.metadata.labels?.[revisionLabel] !== revision)
  const onDelete = at(set["spec"], "updateStrategy", "type") === "OnDelete"
  if (onDelete || outdated === undefined || existing.some(isGoing)) return
  if (!waiting || !isPodReady(outdated)) remove(store, outdated)
}

/**
 * Starts each pod when the previous pod is ready (`Parallel`: all at once); removes and updates from the highest
 * ordinal. A pod that is being deleted or has ended keeps its name until it is gone.
 */
export const reconcileStatefulSet = (creator: PodCreator, set: KubeObject): void => {
  const { store } = creator
  const spec = asObject(set["spec"])
  const wanted = asNumber(spec["replicas"]) ?? 1
  const revision = `${nameOf(set)}-${templateHash(spec["template"])}`
  const parallel = spec["podManagementPolicy"] === "Parallel"
  if (set.metadata.deletionTimestamp === undefined) {
    const existing = ownedPods(store, set).toSorted((a, b) => ordinalOf(b) - ordinalOf(a))
    const rollout = { creator, store, set, wanted, revision, parallel, existing }
    removeSurplus(rollout)
    replaceOutdated(rollout, createMissing(rollout))
  }
  publishStatus(store, set, wanted, revision)
}

const publishStatus = (store: ObjectStore, set: KubeObject, wanted: number, revision: string): void => {
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

const create = (creator: PodCreator, set: KubeObject, ordinal: number, revision: string): void => {
  const name = `${nameOf(set)}-${ordinal}`
  if (creator.waiting(set).some((pod) => nameOf(pod) === name)) return
  const spec = asObject(set["spec"])
  const claims = asObjects(spec["volumeClaimTemplates"]).map((claim) => {
    const claimName = String(at(claim, "metadata", "name"))
    return { name: claimName, persistentVolumeClaim: { claimName: `${claimName}-${name}` } }
  })
  const subdomain = asString(spec["serviceName"])
  creator.create(set, {
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
