/**
 * Deployments → ReplicaSets: one per template, with revisions, roll-out and status. Simpler than a real controller:
 * `maxSurge` and `maxUnavailable` are ignored, and old ReplicaSets stay as long as the Deployment.
 */

import { asNumber, asObject, at } from "../../../src/domain/json.ts"
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

/**
 * RollingUpdate starts all new pods at once and removes an old pod for each new pod that is ready. Recreate waits until
 * the old pods have ended.
 */
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
    const recreate = at(spec, "strategy", "type") === "Recreate"
    const oldPods = old.flatMap((set) => ownedPods(store, set))
    if (!recreate || oldPods.length === 0) scale(store, current, wanted)
    let keep = recreate ? 0 : Math.max(0, wanted - count(current, "status", "readyReplicas"))
    for (const set of old.toSorted((a, b) => revisionOf(b) - revisionOf(a))) {
      const kept = Math.min(count(set, "spec", "replicas"), keep)
      scale(store, set, kept)
      keep -= kept
    }
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
