/**
 * Small helpers of the programs that work on a store from outside: controllers, node, network. They find and change
 * objects that may be gone, and read the common fields of objects. No rules of the API here.
 */

import { asObject, asObjects, jsonEqual } from "../../../src/domain/json.ts"
import type { KubeObject, OwnerReference, ResourceRef } from "../schema/kube-object.ts"
import { ApiError } from "../wire/status-error.ts"
import type { ObjectReader } from "./object-reader.ts"
import type { ObjectStore } from "./object-store.ts"

/**
 * Runs an access; `undefined` if the object is gone or was changed meanwhile. A level-triggered loop need not react:
 * the change itself comes as an event. Other errors are thrown on.
 */
export const ifPresent = <A>(access: () => A): A | undefined => {
  try {
    return access()
  } catch (error) {
    if (error instanceof ApiError && (error.code === 404 || error.code === 409)) return undefined
    throw error
  }
}

export const find = (store: ObjectReader, ref: ResourceRef, namespace: string | undefined, name: string) =>
  ifPresent(() => store.get(ref, namespace, name))

/** Writes the status if the object still has this `uid` and something changes. */
export const setStatus = (
  store: ObjectStore,
  ref: ResourceRef,
  object: KubeObject,
  status: Record<string, unknown>
): void => {
  const current = find(store, ref, object.metadata.namespace, nameOf(object))
  if (current === undefined || current.metadata.uid !== object.metadata.uid) return
  const merged = { ...asObject(current["status"]), ...status }
  if (jsonEqual(current["status"], merged)) return
  ifPresent(() => store.writeStatus(ref, object.metadata.namespace, nameOf(object), merged))
}

export const nameOf = (object: KubeObject): string => object.metadata.name ?? ""
export const namespaceOf = (object: KubeObject): string => object.metadata.namespace ?? "default"
export const uidOf = (object: KubeObject): string => object.metadata.uid ?? ""
/** `<namespace>/<name>` */
export const keyOf = (object: KubeObject): string => `${namespaceOf(object)}/${nameOf(object)}`

/** The value with sorted keys and without `undefined`, so that equal values get equal JSON. */
export const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== undefined)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, item]) => [key, sorted(item)])
  )
}

/** The owner that is the object's controller. */
export const controllerOf = (object: KubeObject): OwnerReference | undefined =>
  object.metadata.ownerReferences?.find((owner) => owner.controller === true)

export const ownedBy = (owner: KubeObject, ownerApiVersion: string, kind: string): OwnerReference => ({
  apiVersion: ownerApiVersion,
  kind,
  name: nameOf(owner),
  uid: uidOf(owner),
  controller: true,
  blockOwnerDeletion: true
})

export interface Condition {
  readonly type: string
  readonly status: "True" | "False"
  readonly reason?: string
  readonly message?: string
}

/** `status.conditions` with these conditions set; `lastTransitionTime` moves only with the status. */
export const withConditions = (
  before: unknown,
  conditions: ReadonlyArray<Condition>,
  time: string
): ReadonlyArray<Readonly<Record<string, unknown>>> => {
  const existing = asObjects(before)
  const set = conditions.map((condition) => {
    const old = existing.find((candidate) => candidate["type"] === condition.type)
    const since = old !== undefined && old["status"] === condition.status ? old["lastTransitionTime"] : time
    return { ...condition, lastTransitionTime: since }
  })
  return [...existing.filter((old) => !conditions.some((condition) => condition.type === old["type"])), ...set]
}

/** Whether the pod's Ready condition is True. */
export const isPodReady = (pod: KubeObject): boolean =>
  asObjects(asObject(pod["status"])["conditions"]).some((c) => c["type"] === "Ready" && c["status"] === "True")

export const podPhase = (pod: KubeObject): string => {
  const phase = asObject(pod["status"])["phase"]
  return typeof phase === "string" ? phase : "Pending"
}

export const podIpOf = (pod: KubeObject): string | undefined => {
  const ip = asObject(pod["status"])["podIP"]
  return typeof ip === "string" ? ip : undefined
}
