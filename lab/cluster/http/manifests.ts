/**
 * Applies YAML manifests to the store as `kubectl apply --server-side --force-conflicts` would through the API: with
 * the same decoding, strictness and merging, but without HTTP and without a check of rights.
 */

import { parseAllDocuments } from "yaml"
import { asObjects, isObject } from "../../../src/domain/json.ts"
import { type KubeObject, isKubeObject } from "../schema/kube-object.ts"
import { applyListType } from "../schema/list-topology.ts"
import { hasStatus } from "../schema/resource-info.ts"
import type { ObjectStore } from "../store/object-store.ts"
import { badRequest } from "../wire/status-error.ts"
import { yamlOfGo } from "../wire/yaml-text.ts"
import { readBodyAs, readObjectAs, warningsOf } from "./sent-object.ts"
import { serverSideApply } from "./server-side-apply.ts"

const manager = { name: "embedded-cluster", operation: "Apply" } as const

const applyObject = (store: ObjectStore, object: KubeObject, now: number): void => {
  const info = store.catalog.findKind(object.apiVersion, object.kind)
  if (info === undefined)
    throw badRequest(
      `no matches for kind ${JSON.stringify(object.kind)} in version ${JSON.stringify(object.apiVersion)}`
    )
  const reading = readBodyAs(info)
  const { object: wanted, unknown } = readObjectAs(info, object, reading)
  // kubectl asks for strict validation.
  warningsOf("Strict", () => [], unknown, reading.refuse)
  if (info.namespaced) wanted.metadata.namespace ??= "default"
  if (hasStatus(info)) delete wanted["status"]
  const live = store.get(info, wanted.metadata.namespace, wanted.metadata.name ?? "")
  const merged = serverSideApply(live, wanted, manager, { force: true, now, listType: applyListType(info) })
  if (live === undefined) store.create(info, merged)
  else store.update(info, merged)
}

/**
 * Creates or updates every object of the text, also those in a `v1 List`. A field missing in a later text is removed.
 */
export const applyManifests = (store: ObjectStore, text: string, now: number): void => {
  for (const document of parseAllDocuments(text, yamlOfGo)) {
    const [problem] = document.errors
    if (problem !== undefined) throw badRequest(`error parsing YAML: ${problem.message}`)
    const value: unknown = document.toJS()
    if (value === null || value === undefined) continue
    const objects = isObject(value) && value["kind"] === "List" ? asObjects(value["items"]) : [value]
    for (const object of objects) {
      if (!isKubeObject(object)) throw badRequest("a manifest must be an object with apiVersion, kind and metadata")
      applyObject(store, object, now)
    }
  }
}
