/**
 * As much OpenAPI as `kubectl` needs to learn that the server validates fields and knows dry runs. The document leaves
 * out strategic merge patches on purpose: with them `kubectl apply` would compute the patch from schemas that are not
 * here; without them it uses the types it was built with.
 */

import type { JsonObject } from "../../../src/domain/json.ts"
import { apiVersionOf } from "../schema/kube-object.ts"
import type { ResourceInfo } from "../schema/resource-info.ts"
import type { ObjectStore } from "../store/object-store.ts"

const queryParameter = (name: string) => ({ name, in: "query", schema: { type: "string" } })

const kindOf = (info: ResourceInfo) => ({ group: info.group, version: info.version, kind: info.kind })

const schemaName = (info: ResourceInfo): string =>
  `${(info.group === "" ? "core" : info.group).split(".").toReversed().join(".")}.${info.version}.${info.kind}`

const rootOf = (info: ResourceInfo): string =>
  info.group === "" ? `/api/${info.version}` : `/apis/${apiVersionOf(info)}`

const operation = (
  info: ResourceInfo,
  action: string,
  parameters: ReadonlyArray<string>,
  content?: ReadonlyArray<string>
): JsonObject => ({
  operationId: `${action}${info.group}${info.version}${info.kind}`,
  parameters: parameters.map(queryParameter),
  ...(content === undefined
    ? {}
    : { requestBody: { content: Object.fromEntries(content.map((type) => [type, { schema: { type: "object" } }])) } }),
  responses: { "200": { description: "OK" } },
  "x-kubernetes-action": action,
  "x-kubernetes-group-version-kind": kindOf(info)
})

const writeParameters = ["dryRun", "fieldManager", "fieldValidation"]

const pathsOf = (info: ResourceInfo): ReadonlyArray<readonly [string, JsonObject]> => {
  const collection = `${rootOf(info)}${info.namespaced ? "/namespaces/{namespace}" : ""}/${info.resource}`
  return [
    [
      collection,
      { get: operation(info, "list", []), post: operation(info, "post", writeParameters, ["application/json"]) }
    ],
    [
      `${collection}/{name}`,
      {
        get: operation(info, "get", []),
        put: operation(info, "put", writeParameters, ["application/json"]),
        patch: operation(info, "patch", writeParameters, [
          "application/json-patch+json",
          "application/merge-patch+json"
        ]),
        delete: operation(info, "delete", ["dryRun"])
      }
    ]
  ]
}

const versionsOf = (store: ObjectStore): ReadonlySet<string> =>
  new Set(store.catalog.all().map((info) => rootOf(info).slice(1)))

/** `/openapi/v3`: the path of each group and version's document. */
export const openApiIndex = (store: ObjectStore): JsonObject => ({
  paths: Object.fromEntries(
    [...versionsOf(store)].map((root) => [
      root,
      { serverRelativeURL: `/openapi/v3/${root}?hash=${store.resourceVersion}` }
    ])
  )
})

/** `/openapi/v3/apis/<group>/<version>`; `undefined` for a version not kept here. */
export const openApiDocument = (store: ObjectStore, root: string): JsonObject | undefined => {
  const infos = store.catalog.all().filter((info) => rootOf(info).slice(1) === root)
  if (infos.length === 0) return undefined
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: "embedded" },
    paths: Object.fromEntries(infos.flatMap(pathsOf)),
    components: {
      schemas: Object.fromEntries(
        infos.map((info) => [schemaName(info), { type: "object", "x-kubernetes-group-version-kind": [kindOf(info)] }])
      )
    }
  }
}

/** `/openapi/v2` in JSON, without paths. */
export const openApiV2 = (store: ObjectStore): JsonObject => ({
  swagger: "2.0",
  info: { title: "Kubernetes", version: "embedded" },
  paths: {},
  definitions: Object.fromEntries(
    store.catalog
      .all()
      .map((info) => [schemaName(info), { type: "object", "x-kubernetes-group-version-kind": [kindOf(info)] }])
  )
})
