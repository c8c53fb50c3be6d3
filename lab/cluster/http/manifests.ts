/**
 * Applies YAML manifests to the store as an administrator would through the API: with the same decoding and strictness,
 * but without HTTP and without a check of rights.
 */

import { parseAllDocuments } from "yaml"
import { asObjects, isObject } from "../../../src/domain/json.ts"
import { type KubeObject, isKubeObject } from "../schema/kube-object.ts"
import type { ObjectStore } from "../store/object-store.ts"
import { badRequest } from "../wire/status-error.ts"
import { yamlOfGo } from "../wire/yaml-text.ts"
import { readBodyAs, readObjectAs, warningsOf } from "./sent-object.ts"

const applyObject = (store: ObjectStore, object: KubeObject): void => {
  const info = store.catalog.findKind(object.apiVersion, object.kind)
  if (info === undefined)
    throw badRequest(
      `no matches for kind ${JSON.stringify(object.kind)} in version ${JSON.stringify(object.apiVersion)}`
    )
  const reading = readBodyAs(info)
  const { object: wanted, unknown } = readObjectAs(info, object, reading)
  // kubectl asks for strict validation.
  warningsOf("Strict", unknown, reading)
  if (info.namespaced) wanted.metadata.namespace ??= "default"
  const live = store.get(info, wanted.metadata.namespace, wanted.metadata.name ?? "")
  if (live === undefined) store.create(info, wanted)
  else store.update(info, { ...wanted, metadata: { ...live.metadata, ...wanted.metadata } })
}

/** Creates or replaces every object of the text, also those in a `v1 List`. The status stays. */
export const applyManifests = (store: ObjectStore, text: string): void => {
  for (const document of parseAllDocuments(text, yamlOfGo)) {
    const [problem] = document.errors
    if (problem !== undefined) throw badRequest(`error parsing YAML: ${problem.message}`)
    const value: unknown = document.toJS()
    if (value === null || value === undefined) continue
    const objects = isObject(value) && value["kind"] === "List" ? asObjects(value["items"]) : [value]
    for (const object of objects) {
      if (!isKubeObject(object)) throw badRequest("a manifest must be an object with apiVersion, kind and metadata")
      applyObject(store, object)
    }
  }
}
