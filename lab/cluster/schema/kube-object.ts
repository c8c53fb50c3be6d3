/**
 * The shape that all Kubernetes objects share, and the names of their collections. Not the fields of single kinds:
 * nothing here knows what a Pod is.
 */

import { isObject } from "../../../src/domain/json.ts"

/** `metadata.ownerReferences[]`. */
export interface OwnerReference {
  apiVersion: string
  kind: string
  name: string
  uid: string
  controller?: boolean
  blockOwnerDeletion?: boolean
}

/** `metadata` of every object. A name is always there once the object is stored. */
export interface ObjectMeta {
  name?: string
  generateName?: string
  namespace?: string
  uid?: string
  resourceVersion?: string
  generation?: number
  creationTimestamp?: string
  deletionTimestamp?: string
  deletionGracePeriodSeconds?: number
  labels?: Record<string, string>
  annotations?: Record<string, string>
  finalizers?: Array<string>
  ownerReferences?: Array<OwnerReference>
}

/**
 * Any Kubernetes object. Objects from a store are deeply frozen: change a `structuredClone`, or use
 * `ObjectStore.modify`.
 */
export interface KubeObject {
  apiVersion: string
  kind: string
  metadata: ObjectMeta
  [field: string]: unknown
}

/** A collection: `resource` is the plural, the core group is "". */
export interface ResourceRef {
  readonly group: string
  readonly version: string
  readonly resource: string
}

export type StoreEvent = { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: KubeObject }

export const isKubeObject = (value: unknown): value is KubeObject =>
  isObject(value) &&
  typeof value["apiVersion"] === "string" &&
  typeof value["kind"] === "string" &&
  isObject(value["metadata"])

export const apiVersionOf = (ref: { readonly group: string; readonly version: string }): string =>
  ref.group === "" ? ref.version : `${ref.group}/${ref.version}`

export const splitApiVersion = (apiVersion: string): { readonly group: string; readonly version: string } => {
  const slash = apiVersion.indexOf("/")
  return slash < 0
    ? { group: "", version: apiVersion }
    : { group: apiVersion.slice(0, slash), version: apiVersion.slice(slash + 1) }
}

/** Kubernetes' `Time`: RFC 3339 in UTC with whole seconds. */
export const kubeTime = (epochMs: number): string => `${new Date(epochMs).toISOString().slice(0, 19)}Z`
