/**
 * Deployments → ReplicaSets: one per template, with revisions, roll-out and status. Simpler than a real controller: a
 * pod is available when it is ready, and old ReplicaSets stay as long as the Deployment.
 */

import { asNumber, asObject, at, type JsonObject } from "../../../src/domain/json.ts"
import { type KubeObject, kubeTime } from "../schema/kube-object.ts"
import type { ObjectStore } from "../store/object-store.ts"
import { deployments, replicaSets } from "../store/resource-refs.ts"
import {
  type Condition,
  controllerOf,
  find,
  ifPresent,
  nameOf,
  namespaceOf,
  ownedBy,
  setStatus,
  uidOf,
  withConditions
} from "../store/store-access.ts"
import { ownedPods, templateHash } from "./pod-template.ts"

const hashLabel = "pod-template-hash"
const revisionAnnotation = "deployment.kubernetes.io/revision"

const ownedSets = (store: ObjectStore, deployment: KubeObject): ReadonlyArray<KubeObject> =>
  store
    .list(replicaSets, { namespace: namespaceOf(deployment) })
    .items.filter((set) => controllerOf(set)?.uid === uidOf(deployment))

const count = (object: KubeObject, part: "spec" | "status", field: string): number =>
  asNumber(asObject(object[part])[field]) ?? 0

const revisionOf = (object: KubeObject): number => Number(object.metadata.annotations?.[revisionAnnotation] ?? 0)

const scale = (store: ObjectStore, set: KubeObject, replicas: number): void => {
  if (count(set, "spec", "replicas") === replicas) return
  ifPresent(() =>
    store.modify(replicaSets, set.metadata.namespace, nameOf(set), (draft) => {
      draft["spec"] = { ...asObject(draft["spec"]), replicas }
    })
  )
}

const annotate = (store: ObjectStore, deployment: KubeObject, set: KubeObject, revision: number): void => {
  for (const [ref, object] of [
    [replicaSets, set],
    [deployments, deployment]
  ] as const) {
    if (revisionOf(object) === revision) continue
    ifPresent(() =>
      store.modify(ref, object.metadata.namespace, nameOf(object), (draft) => {
        draft.metadata.annotations = { ...draft.metadata.annotations, [revisionAnnotation]: String(revision) }
      })
    )
  }
}

const createSet = (store: ObjectStore, deployment: KubeObject, hash: string, revision: number): void => {
  const spec = asObject(deployment["spec"])
  const template = asObject(spec["template"])
  const labels = { ...asObject(at(template, "metadata", "labels")), [hashLabel]: hash }
  ifPresent(() =>
    store.create(replicaSets, {
      apiVersion: "apps/v1",
      kind: "ReplicaSet",
      metadata: {
        name: `${nameOf(deployment)}-${hash}`,
        namespace: namespaceOf(deployment),
        labels: Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, String(value)])),
        annotations: { [revisionAnnotation]: String(revision) },
        ownerReferences: [ownedBy(deployment, "apps/v1", "Deployment")]
      },
      spec: {
        replicas: 0,
        selector: {
          ...structuredClone(asObject(spec["selector"])),
          matchLabels: { ...asObject(at(spec, "selector", "matchLabels")), [hashLabel]: hash }
        },
        template: { ...structuredClone(template), metadata: { ...asObject(template["metadata"]), labels } }
      }
    })
  )
}

/** A number of pods, or a percentage of the wanted ones. */
const share = (value: unknown, wanted: number, round: (pods: number) => number): number =>
  asNumber(value) ?? round((Number.parseInt(String(value), 10) * wanted) / 100)

/** The pods that a roll-out may have beyond the wanted ones, and those that it may lack: not zero for both. */
const bounds = (spec: JsonObject, wanted: number): { readonly surge: number; readonly lacking: number } => {
  const { maxSurge = "25%", maxUnavailable = "25%" } = asObject(at(spec, "strategy", "rollingUpdate"))
  const surge = share(maxSurge, wanted, Math.ceil)
  const lacking = share(maxUnavailable, wanted, Math.floor)
  return { surge, lacking: surge === 0 && lacking === 0 ? 1 : lacking }
}

/** Starts new pods up to `maxSurge`; then removes old pods down to `maxUnavailable`, those first that are not ready. */
const rollOut = (
  store: ObjectStore,
  { lacking, surge, wanted }: { readonly lacking: number; readonly surge: number; readonly wanted: number },
  current: KubeObject,
  old: ReadonlyArray<KubeObject>
): void => {
  const sizeOf = (set: KubeObject): number => count(set, "spec", "replicas")
  const readyOf = (set: KubeObject): number => count(set, "status", "readyReplicas")
  const oldSize = old.reduce((sum, set) => sum + sizeOf(set), 0)
  const room = Math.max(0, wanted + surge - oldSize - sizeOf(current))
  scale(store, current, Math.min(wanted, sizeOf(current) + room))
  let surplus = Math.max(0, oldSize + readyOf(current) - (wanted - lacking))
  const kept = new Map(old.toSorted((a, b) => revisionOf(a) - revisionOf(b)).map((set) => [set, sizeOf(set)]))
  for (const needed of [readyOf, () => 0])
    for (const [set, size] of kept) {
      const gone = Math.min(surplus, Math.max(0, size - needed(set)))
      kept.set(set, size - gone)
      surplus -= gone
    }
  for (const [set, size] of kept) scale(store, set, size)
}

/** RollingUpdate starts and removes pods within `maxSurge` and `maxUnavailable`. Recreate ends the old pods first. */
export const reconcileDeployment = (store: ObjectStore, deployment: KubeObject, now: number): void => {
  const spec = asObject(deployment["spec"])
  const wanted = asNumber(spec["replicas"]) ?? 1
  const name = `${nameOf(deployment)}-${templateHash(spec["template"])}`
  if (deployment.metadata.deletionTimestamp !== undefined) return

  const newest = (sets: ReadonlyArray<KubeObject>): number => Math.max(0, ...sets.map(revisionOf))
  const known = ownedSets(store, deployment)
  const paused = spec["paused"] === true
  let current = known.find((set) => nameOf(set) === name)
  if (current === undefined && !paused) {
    createSet(store, deployment, templateHash(spec["template"]), newest(known) + 1)
    current = find(store, replicaSets, deployment.metadata.namespace, name)
  }
  const old = known.filter((set) => nameOf(set) !== name)
  if (current !== undefined) {
    const revision = newest(old) >= revisionOf(current) ? newest(old) + 1 : revisionOf(current)
    annotate(store, deployment, current, revision)
    if (at(spec, "strategy", "type") === "Recreate") {
      if (old.every((set) => ownedPods(store, set).length === 0)) scale(store, current, wanted)
      for (const set of old) scale(store, set, 0)
    } else rollOut(store, { ...bounds(spec, wanted), wanted }, current, old)
  }
  publishStatus(store, deployment, { current: name, wanted, now })
}

const availability = (available: boolean): Condition =>
  available
    ? {
        type: "Available",
        status: "True",
        reason: "MinimumReplicasAvailable",
        message: "Deployment has minimum availability."
      }
    : {
        type: "Available",
        status: "False",
        reason: "MinimumReplicasUnavailable",
        message: "Deployment does not have minimum availability."
      }

const progress = (current: string, complete: boolean): Condition => ({
  type: "Progressing",
  status: "True",
  reason: complete ? "NewReplicaSetAvailable" : "ReplicaSetUpdated",
  message: `ReplicaSet "${current}" ${complete ? "has successfully progressed" : "is progressing"}.`
})

const publishStatus = (
  store: ObjectStore,
  deployment: KubeObject,
  { current, now, wanted }: { readonly current: string; readonly wanted: number; readonly now: number }
): void => {
  const sets = ownedSets(store, deployment)
  const sum = (field: string): number => sets.reduce((total, set) => total + count(set, "status", field), 0)
  const replicas = sum("replicas")
  const ready = sum("readyReplicas")
  const mine = sets.find((set) => nameOf(set) === current)
  const updated = mine === undefined ? 0 : count(mine, "status", "replicas")
  const available = ready >= wanted
  const complete = available && updated === wanted && replicas === wanted
  setStatus(store, deployments, deployment, {
    observedGeneration: deployment.metadata.generation ?? 1,
    replicas,
    updatedReplicas: updated,
    readyReplicas: ready,
    availableReplicas: ready,
    unavailableReplicas: Math.max(0, wanted - ready),
    conditions: withConditions(
      at(find(store, deployments, namespaceOf(deployment), nameOf(deployment)), "status", "conditions"),
      [availability(available), progress(current, complete)],
      kubeTime(now)
    )
  })
}
