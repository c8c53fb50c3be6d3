/** Writes of an administrator to a cluster of a playground over its API, the same for embedded and real clusters. */

import { parseAllDocuments } from "yaml"
import type { ResourceRef } from "../../lab/cluster/store/object-store.ts"
import type { LocalCluster } from "../../lab/playground/local-cluster.ts"
import { asObject, asString, at, type JsonObject } from "../../src/domain/json.ts"
import { apiClient } from "./api-client.ts"

/** `namespace`: empty for an object of the whole cluster. Without `name` the path of the collection. */
const pathOf = ({ group, resource, version }: ResourceRef, namespace: string, name?: string): string =>
  [
    group === "" ? "/api" : `/apis/${group}`,
    version,
    ...(namespace === "" ? [] : ["namespaces", namespace]),
    resource,
    ...(name === undefined ? [] : [name])
  ].join("/")

const send = async (
  { kubeconfigPath }: LocalCluster,
  method: string,
  path: string,
  sent?: { readonly type: string; readonly body: string }
): Promise<JsonObject> => {
  const headers = sent === undefined ? {} : { "content-type": sent.type }
  const { body, status } = await apiClient(kubeconfigPath).call(method, path, sent?.body, headers)
  if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(body)}`)
  return asObject(body)
}

/** Changes an object by a merge patch (RFC 7396). */
export const patchObject = (
  cluster: LocalCluster,
  ref: ResourceRef,
  namespace: string,
  name: string,
  change: object
): Promise<unknown> =>
  send(cluster, "PATCH", pathOf(ref, namespace, name), {
    type: "application/merge-patch+json",
    body: JSON.stringify(change)
  })

/** Deletes an object as `kubectl delete` does. Dependents go after it; pods get their time to end. */
export const deleteObject = (
  cluster: LocalCluster,
  ref: ResourceRef,
  namespace: string,
  name: string
): Promise<unknown> => send(cluster, "DELETE", pathOf(ref, namespace, name))

/** The collection of a kind; enough for the kinds of the tests here. */
const pluralOf = (kind: string): string => `${kind.toLowerCase().replace(/y$/u, "ie")}s`

/** Makes or changes the objects of YAML documents, fields that they leave out excepted; returns them as stored. */
export const applyObjects = async (cluster: LocalCluster, yaml: string): Promise<ReadonlyArray<JsonObject>> => {
  const stored: Array<JsonObject> = []
  for (const document of parseAllDocuments(yaml)) {
    const object = asObject(document.toJS())
    const [version = "", group = ""] = (asString(object["apiVersion"]) ?? "").split("/").toReversed()
    const ref = { group, version, resource: pluralOf(asString(object["kind"]) ?? "") }
    const namespace = asString(at(object, "metadata", "namespace")) ?? ""
    const path = pathOf(ref, namespace, asString(at(object, "metadata", "name")) ?? "")
    const body = JSON.stringify(object)
    const { status } = await apiClient(cluster.kubeconfigPath).call("GET", path)
    stored.push(
      status === 404
        ? await send(cluster, "POST", pathOf(ref, namespace), { type: "application/json", body })
        : await send(cluster, "PATCH", path, { type: "application/merge-patch+json", body })
    )
  }
  return stored
}
