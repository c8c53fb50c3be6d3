/**
 * Creates, updates and patches: from the body of a request to the object in the store, with field validation, dry runs
 * and managed fields. The patches themselves are computed in `patches.ts` and `server-side-apply.ts`.
 */

import { type JsonObject, asObject, asString, isObject } from "../../../src/domain/json.ts"
import { builtInType } from "../schema/built-in-models.ts"
import { jsonType } from "../schema/decoding.ts"
import type { FieldType } from "../schema/field-types.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import { applyListType } from "../schema/list-topology.ts"
import { type ResourceInfo, hasStatus } from "../schema/resource-info.ts"
import { typedPatchProblem } from "../schema/typed-patch.ts"
import { goText } from "../wire/go-text.ts"
import { mediaType, type ParsedText, parseText, readBody, readText } from "../wire/http-io.ts"
import {
  ApiError,
  badRequest,
  invalid,
  notFound,
  required,
  unsupportedMediaType,
  unsupportedValue
} from "../wire/status-error.ts"
import { applyJsonPatch, applyMergePatch, applyStrategicMergePatch } from "./patches.ts"
import { type OptionsKind, conform, fieldValidationOf, readBodyAs, readPatched, warningsOf } from "./sent-object.ts"
import type { ResourceRequest, ServerContext } from "./server-context.ts"
import { type Manager, serverSideApply, trackUpdate } from "./server-side-apply.ts"

export interface Written {
  readonly code: 200 | 201
  readonly object: KubeObject
  readonly warnings: ReadonlyArray<string>
}

const managerOf = ({ req, query, access }: ResourceRequest, operation: Manager["operation"]): Manager => ({
  name: query.get("fieldManager") ?? (req.headers["user-agent"] ?? "unknown").split("/")[0] ?? "unknown",
  operation,
  ...(access.subresource === "" ? {} : { subresource: access.subresource })
})

const isDryRun = (query: URLSearchParams, options: OptionsKind): boolean => {
  const value = query.get("dryRun")
  if (value === null || value === "") return false
  if (value !== "All")
    throw invalid({ group: "meta.k8s.io", kind: options }, "", [unsupportedValue("dryRun", [value], ["All"])])
  return true
}

const managed = (
  context: ServerContext,
  request: ResourceRequest,
  info: ResourceInfo,
  { before, draft }: { readonly before: KubeObject | undefined; readonly draft: KubeObject }
): KubeObject => {
  const onlyStatus = request.access.subresource === "status"
  const after = structuredClone(onlyStatus && before !== undefined ? { ...before, status: draft["status"] } : draft)
  if (!onlyStatus && (hasStatus(info) || before === undefined)) {
    if (before?.["status"] === undefined) delete after["status"]
    else after["status"] = before["status"]
  }
  after.metadata = { ...after.metadata }
  trackUpdate(before, after, managerOf(request, "Update"), { now: context.now(), listType: applyListType(info) })
  const { managedFields: _, ...metadata } = draft.metadata
  return {
    ...draft,
    metadata:
      after.metadata.managedFields === undefined
        ? metadata
        : { ...metadata, managedFields: after.metadata.managedFields }
  }
}

const mustExist = (context: ServerContext, info: ResourceInfo, access: ResourceRequest["access"]): KubeObject => {
  const found = context.store.get(info, access.namespace, access.name)
  if (found === undefined) throw notFound(info, access.name)
  return found
}

export const createObject = async (
  context: ServerContext,
  request: ResourceRequest,
  info: ResourceInfo
): Promise<Written> => {
  const body = await readText(request.req)
  if (body === undefined) throw badRequest("the body of the request was empty")
  const mode = fieldValidationOf(request.query, "CreateOptions")
  const reading = readBodyAs(info)
  const { object, unknown } = conform(body.value, info, request.access, reading)
  const warnings = warningsOf(mode, body.duplicates, unknown, reading.refuse)
  const draft = managed(context, request, info, { before: undefined, draft: object })
  return {
    code: 201,
    object: context.store.create(info, draft, { dryRun: isDryRun(request.query, "CreateOptions") }),
    warnings
  }
}

const store = (context: ServerContext, request: ResourceRequest, info: ResourceInfo, draft: KubeObject): KubeObject => {
  const patch = request.access.verb === "patch"
  const options = { dryRun: isDryRun(request.query, patch ? "PatchOptions" : "UpdateOptions"), patch }
  switch (request.access.subresource) {
    case "status":
      return context.store.updateStatus(info, draft, options)
    case "ephemeralcontainers":
      return context.store.updateEphemeralContainers(info, draft, options)
    default:
      return context.store.update(info, draft, options)
  }
}

export const replaceObject = async (
  context: ServerContext,
  request: ResourceRequest,
  info: ResourceInfo
): Promise<Written> => {
  const body = await readText(request.req)
  if (body === undefined) throw badRequest("the body of the request was empty")
  const mode = fieldValidationOf(request.query, "UpdateOptions")
  const reading = readBodyAs(info)
  const { object, unknown } = conform(body.value, info, request.access, reading)
  const before = mustExist(context, info, request.access)
  const warnings = warningsOf(mode, body.duplicates, unknown, reading.refuse)
  const draft = managed(context, request, info, { before, draft: object })
  return { code: 200, object: store(context, request, info, draft), warnings }
}

const jsonPatch = "application/json-patch+json"
const mergePatch = "application/merge-patch+json"
const strategicPatch = "application/strategic-merge-patch+json"
const applyPatch = "application/apply-patch+yaml"

/** A real server refuses such a configuration with 500 and without a reason. `text` gets the kind and the object. */
const cannotApply = (
  info: ResourceInfo,
  applied: JsonObject,
  text: (gvk: string, object: string) => string
): ApiError => {
  const { namespace, name } = asObject(applied["metadata"])
  const gvk = `${info.group}/${info.version}, Kind=${info.kind}`
  return new ApiError(500, "", text(gvk, `(${asString(namespace) ?? ""}/${asString(name) ?? ""}; ${gvk})`))
}

const typeOf = (info: ResourceInfo): FieldType => info.custom?.schema.fieldType ?? builtInType(info)

const apply = (
  context: ServerContext,
  request: ResourceRequest,
  info: ResourceInfo,
  { value: patch, duplicates }: ParsedText
): Written => {
  if (!isObject(patch)) throw badRequest("error decoding YAML: the applied configuration must be an object")
  if (request.query.get("fieldManager") === null) {
    throw invalid({ group: "meta.k8s.io", kind: "PatchOptions" }, "", [
      required("fieldManager", "is required for apply patch")
    ])
  }
  const mode = fieldValidationOf(request.query, "PatchOptions")
  if (asString(patch["apiVersion"]) === undefined || asString(patch["kind"]) === undefined) {
    throw badRequest("the applied configuration must have apiVersion and kind")
  }
  const warnings = warningsOf(mode, duplicates, [], (problem) =>
    badRequest(
      `error strict decoding YAML: ${problem.replace("strict decoding error", "error converting YAML to JSON")}`
    )
  )
  if (asObject(patch["metadata"])["managedFields"] !== undefined) throw badRequest("metadata.managedFields must be nil")
  const untyped = typedPatchProblem(typeOf(info), patch, applyListType(info))
  if (untyped !== undefined)
    throw cannotApply(info, patch, (_, object) => `failed to create typed patch object ${object}: ${untyped}`)
  const { object: applied } = conform(patch, info, request.access, {
    decoder: "unstructured",
    refuse: (problem) =>
      cannotApply(
        info,
        patch,
        (gvk, object) =>
          `failed to convert new object ${object} to proper version: unable to convert unstructured object to ` +
          `${gvk}: ${problem}`
      )
  })
  const live = context.store.get(info, request.access.namespace, request.access.name)
  const onlyStatus = request.access.subresource === "status"
  if (live === undefined && onlyStatus) throw notFound(info, request.access.name)
  const { status, spec: _, ...meta } = applied
  const wanted: KubeObject = onlyStatus ? { ...meta, ...(status === undefined ? {} : { status }) } : applied
  if (!onlyStatus && hasStatus(info)) delete wanted["status"]
  const merged = serverSideApply(live, wanted, managerOf(request, "Apply"), {
    force: request.query.get("force") === "true",
    now: context.now(),
    listType: applyListType(info)
  })
  if (live !== undefined) return { code: 200, object: store(context, request, info, merged), warnings }
  return {
    code: 201,
    object: context.store.create(info, merged, { dryRun: isDryRun(request.query, "PatchOptions") }),
    warnings
  }
}

const patchedBy = (type: string): ((before: KubeObject, patch: unknown) => unknown) => {
  if (type === jsonPatch) return applyJsonPatch
  return type === mergePatch ? applyMergePatch : applyStrategicMergePatch
}

export const patchObject = async (
  context: ServerContext,
  request: ResourceRequest,
  info: ResourceInfo
): Promise<Written> => {
  const type = mediaType(request.req)
  const supported = [jsonPatch, mergePatch, ...(info.custom === undefined ? [strategicPatch] : []), applyPatch]
  if (!supported.includes(type)) throw unsupportedMediaType(type, supported)
  const text = parseText((await readBody(request.req)).toString("utf8"), type === applyPatch, "error decoding patch")
  const { value: patch, duplicates } = text
  if (type === mergePatch && !isObject(patch)) {
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${jsonType(patch)} into Go value of type map[string]interface {}`
    )
  }
  if (type === applyPatch) return apply(context, request, info, text)
  const mode = fieldValidationOf(request.query, "PatchOptions")
  const before = mustExist(context, info, request.access)
  const patched = patchedBy(type)(before, patch)
  if (!isObject(patched)) throw badRequest("the patch leaves no object")
  const reading =
    type === strategicPatch ? readPatched("unstructured", goText(patch)) : readPatched("json", JSON.stringify(patched))
  const { object, unknown } = conform(patched, info, request.access, reading)
  const warnings = warningsOf(mode, duplicates, unknown.toSorted(), reading.refuse)
  const draft = managed(context, request, info, { before, draft: object })
  return { code: 200, object: store(context, request, info, draft), warnings }
}
