/**
 * The discovery documents: `/api`, `/apis`, `/apis/<group>` and the resource lists of the versions kept here. Lists of
 * aggregated versions come from their own servers.
 */

import { Order } from "effect"
import type { JsonObject } from "../../../src/domain/json.ts"
import { apiVersionOf } from "../schema/kube-object.ts"
import { type ResourceInfo, hasStatus } from "../schema/resource-info.ts"
import type { ObjectStore } from "../store/object-store.ts"
import { aggregatedServices } from "./aggregation.ts"

const subresource = (info: ResourceInfo, name: string): JsonObject => {
  const entry = { name: `${info.resource}/${name}`, singularName: "", namespaced: info.namespaced }
  switch (name) {
    case "token":
      return { ...entry, group: "authentication.k8s.io", version: "v1", kind: "TokenRequest", verbs: ["create"] }
    case "binding":
      return { ...entry, kind: "Binding", verbs: ["create"] }
    case "scale":
      return { ...entry, group: "autoscaling", version: "v1", kind: "Scale", verbs: ["get", "patch", "update"] }
    case "log":
      return { ...entry, kind: info.kind, verbs: ["get"] }
    default:
      return { ...entry, kind: info.kind, verbs: ["get", "patch", "update"] }
  }
}

/** `APIResourceList` of one group and version kept here. */
const resourceList = (store: ObjectStore, group: string, version: string): JsonObject => ({
  kind: "APIResourceList",
  apiVersion: "v1",
  groupVersion: apiVersionOf({ group, version }),
  resources: store.catalog
    .all()
    .filter((info) => info.group === group && info.version === version)
    .flatMap((info) => [
      {
        name: info.resource,
        singularName: info.singular,
        namespaced: info.namespaced,
        kind: info.kind,
        verbs: info.verbs,
        ...(info.shortNames.length === 0 ? {} : { shortNames: info.shortNames }),
        ...(info.categories.length === 0 ? {} : { categories: info.categories })
      },
      ...info.subresources.filter((name) => name !== "status" || hasStatus(info)).map((name) => subresource(info, name))
    ])
})

/** A real server registers the versions of custom resources with this priority. */
const localPriority = 100

/**
 * `v2` > `v1` > `v1beta2` > `v1beta1` > `v1alpha1` > anything else (k8s.io/apimachinery
 * `version.CompareKubeAwareVersionStrings`).
 */
const versionRank = (version: string): readonly [number, number, number] => {
  const match = /^v(\d+)(?:(alpha|beta)(\d*))?$/.exec(version)
  if (match === null) return [0, 0, 0]
  const [, major, stage, minor] = match
  return [["alpha", "beta", undefined].indexOf(stage) + 1, Number(major), Number(minor ?? 0)]
}

const compareVersions = (a: string, b: string): number => {
  const [rankA, rankB] = [versionRank(a), versionRank(b)]
  for (const index of [0, 1, 2] as const) if (rankA[index] !== rankB[index]) return rankB[index] - rankA[index]
  return Order.String(a, b)
}

/** All groups except the core group, with their versions in the order of preference. */
const groups = (store: ObjectStore): ReadonlyMap<string, ReadonlyArray<string>> => {
  const priorities = new Map<string, Map<string, number>>()
  const add = (group: string, version: string, priority: number) => {
    const versions = priorities.get(group) ?? new Map<string, number>()
    priorities.set(group, versions)
    if (!versions.has(version)) versions.set(version, priority)
  }
  for (const service of aggregatedServices(store)) add(service.group, service.version, service.versionPriority)
  for (const info of store.catalog.all()) if (info.group !== "") add(info.group, info.version, localPriority)
  return new Map(
    [...priorities].map(([group, versions]) => [
      group,
      [...versions].toSorted(([a, x], [b, y]) => y - x || compareVersions(a, b)).map(([version]) => version)
    ])
  )
}

const groupBody = (name: string, versions: ReadonlyArray<string>): JsonObject => {
  const entries = versions.map((version) => ({ groupVersion: `${name}/${version}`, version }))
  return { name, versions: entries, preferredVersion: entries[0] }
}

/** `undefined` for a path without a discovery document. `server` is the request's `Host`. */
export const discover = (store: ObjectStore, path: string, server: string): JsonObject | undefined => {
  const [root, group, version, ...rest] = path.split("/").filter((part) => part !== "")
  if (root === "api") {
    if (group === undefined) {
      return {
        kind: "APIVersions",
        versions: ["v1"],
        serverAddressByClientCIDRs: [{ clientCIDR: "0.0.0.0/0", serverAddress: server }]
      }
    }
    return group === "v1" && version === undefined ? resourceList(store, "", "v1") : undefined
  }
  if (root !== "apis" || rest.length > 0) return undefined
  if (group === undefined) {
    return {
      kind: "APIGroupList",
      apiVersion: "v1",
      groups: [...groups(store)].map(([name, versions]) => groupBody(name, versions))
    }
  }
  const versions = groups(store).get(group)
  if (versions === undefined) return undefined
  if (version === undefined) return { kind: "APIGroup", apiVersion: "v1", ...groupBody(group, versions) }
  return store.catalog.hasGroupVersion(group, version) ? resourceList(store, group, version) : undefined
}
