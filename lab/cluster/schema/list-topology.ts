/**
 * The rule by which a list is merged: by a key, as a set, or replaced as a whole. Built-in kinds have it in the table
 * below, custom resources in their schema. The merges themselves are in `http/patches.ts` and
 * `http/server-side-apply.ts`.
 */

import type { ResourceInfo } from "./resource-info.ts"
import type { ListType } from "./structural-schema.ts"

/**
 * Merge keys of built-in kinds by the name of the list: `patch` is `patchMergeKey` of a strategic merge, `apply` are
 * the `listMapKeys` of server-side apply (k8s.io/api, struct tags). Any other list is replaced as a whole.
 */
const mergeKeys: Record<string, { readonly patch: string; readonly apply: ReadonlyArray<string> }> = {
  containers: { patch: "name", apply: ["name"] },
  initContainers: { patch: "name", apply: ["name"] },
  ephemeralContainers: { patch: "name", apply: ["name"] },
  env: { patch: "name", apply: ["name"] },
  volumes: { patch: "name", apply: ["name"] },
  volumeMounts: { patch: "mountPath", apply: ["mountPath"] },
  imagePullSecrets: { patch: "name", apply: ["name"] },
  hostAliases: { patch: "ip", apply: ["ip"] },
  topologySpreadConstraints: { patch: "topologyKey", apply: ["topologyKey", "whenUnsatisfiable"] },
  conditions: { patch: "type", apply: ["type"] },
  ownerReferences: { patch: "uid", apply: ["uid"] },
  secrets: { patch: "name", apply: ["name"] },
  podIPs: { patch: "ip", apply: ["ip"] },
  hostIPs: { patch: "ip", apply: ["ip"] }
}

const sets = new Set(["finalizers"])

export interface ListMerge {
  /** The merge key of a strategic merge patch, which has exactly one. */
  readonly patchKey?: string
  readonly primitiveMerge?: boolean
}

const isServicePorts = (path: ReadonlyArray<string>): boolean => path.length === 2 && path[0] === "spec"

/** Strategic merge of the list at a path of field names (`[]` for "any item"), built-in kinds only. */
export const strategicMerge = (path: ReadonlyArray<string>): ListMerge => {
  const field = path.at(-1) ?? ""
  if (sets.has(field)) return { primitiveMerge: true }
  if (field === "ports") return { patchKey: isServicePorts(path) ? "port" : "containerPort" }
  const key = Object.hasOwn(mergeKeys, field) ? mergeKeys[field] : undefined
  return key === undefined ? {} : { patchKey: key.patch }
}

const metadataList = (field: string): ListType => {
  if (field === "finalizers") return { _tag: "Set" }
  return field === "ownerReferences" ? { _tag: "Map", keys: ["uid"] } : { _tag: "Atomic" }
}

/** Server-side apply of the list at a path of field names. */
export const applyListType =
  (info: ResourceInfo) =>
  (path: ReadonlyArray<string>): ListType => {
    const field = path.at(-1) ?? ""
    if (path[0] === "metadata") return metadataList(field)
    if (info.custom !== undefined) return info.custom.schema.listType(path)
    if (sets.has(field)) return { _tag: "Set" }
    if (field === "ports") return { _tag: "Map", keys: [isServicePorts(path) ? "port" : "containerPort", "protocol"] }
    const key = Object.hasOwn(mergeKeys, field) ? mergeKeys[field] : undefined
    return key === undefined ? { _tag: "Atomic" } : { _tag: "Map", keys: key.apply }
  }
