/**
 * Pods from a workload's `spec.template`, and the pods that a workload owns: shared by all workload controllers. The
 * number of pods is decided by each controller.
 */

import { createHash } from "node:crypto"
import { asObject, asStrings, at } from "../../../src/domain/json.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import type { ObjectStore } from "../store/object-store.ts"
import { pods } from "../store/resource-refs.ts"
import { controllerOf, isPodReady, namespaceOf, ownedBy, podPhase, sorted, uidOf } from "../store/store-access.ts"

const stringMap = (value: unknown): Record<string, string> =>
  Object.fromEntries(Object.entries(asObject(value)).map(([key, item]) => [key, String(item)]))

/** Equal templates get equal hashes. Digits and consonants, as in real hashes. */
export const templateHash = (template: unknown): string => {
  const digest = createHash("sha256")
    .update(JSON.stringify(sorted(template)))
    .digest()
  const alphabet = "bcdfghjklmnpqrstvwxz2456789"
  return [...digest.subarray(0, 10)].map((byte) => alphabet.charAt(byte % alphabet.length)).join("")
}

/** The name of a new pod, and what it has beside the owner's `spec.template`. */
export interface NewPod {
  readonly name: { readonly name: string } | { readonly generateName: string }
  readonly labels?: Readonly<Record<string, string>>
  readonly spec?: Readonly<Record<string, unknown>>
}

/** A pod from the owner's `spec.template`. */
export const podFrom = (owner: KubeObject, { labels, name, spec }: NewPod): KubeObject => {
  const template = asObject(asObject(owner["spec"])["template"])
  const annotations = stringMap(at(template, "metadata", "annotations"))
  const finalizers = asStrings(at(template, "metadata", "finalizers"))
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...name,
      namespace: namespaceOf(owner),
      labels: { ...stringMap(at(template, "metadata", "labels")), ...labels },
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      ...(finalizers.length === 0 ? {} : { finalizers: [...finalizers] }),
      ownerReferences: [ownedBy(owner, owner.apiVersion, owner.kind)]
    },
    spec: { ...structuredClone(asObject(template["spec"])), ...spec }
  }
}

export const ownedPods = (store: ObjectStore, owner: KubeObject): ReadonlyArray<KubeObject> =>
  store.list(pods, { namespace: namespaceOf(owner) }).items.filter((pod) => controllerOf(pod)?.uid === uidOf(owner))

/** An active pod counts as a replica: it has not ended and is not being deleted. */
export const isActive = (pod: KubeObject): boolean =>
  pod.metadata.deletionTimestamp === undefined && podPhase(pod) !== "Succeeded" && podPhase(pod) !== "Failed"

export const readyCount = (list: ReadonlyArray<KubeObject>): number => list.filter(isPodReady).length
