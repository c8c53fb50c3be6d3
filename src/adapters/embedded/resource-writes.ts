import type { ResourceInfo } from "./resource-info.ts"
import { hasStatus } from "./resource-info.ts"
import { mediaType, parseText, readBody, readObject } from "./http-io.ts"
import { type JsonObject, asObject, asString, isObject } from "./json.ts"
import { type KubeObject, apiVersionOf, isKubeObject } from "./kube-object.ts"
import { applyListType } from "./list-topology.ts"
import { applyJsonPatch, applyMergePatch, applyStrategicMergePatch } from "./patches.ts"
import { type Manager, serverSideApply, trackUpdate } from "./server-side-apply.ts"
import type { ResourceRequest, ServerContext } from "./server-context.ts"
import { badRequest, invalid, invalidValue, notFound, required, unsupportedMediaType, unsupportedValue } from "./status-error.ts"

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

/** Kinds of the options that a request brings in its query, as refusals name them. */
type OptionsKind = "CreateOptions" | "UpdateOptions" | "PatchOptions"

const isDryRun = (query: URLSearchParams, options: OptionsKind): boolean => {
  const value = query.get("dryRun")
  if (value === null || value === "") return false
  if (value !== "All") throw invalid({ group: "meta.k8s.io", kind: options }, "", [unsupportedValue("dryRun", [value], ["All"])])
  return true
}

const isStringMap = (value: unknown): boolean => isObject(value) && Object.values(value).every((item) => typeof item === "string")

const metadataTypes: Record<string, { readonly wanted: string; readonly fits: (value: unknown) => boolean }> = {
  name: { wanted: "string", fits: (value) => typeof value === "string" },
  generateName: { wanted: "string", fits: (value) => typeof value === "string" },
  namespace: { wanted: "string", fits: (value) => typeof value === "string" },
  resourceVersion: { wanted: "string", fits: (value) => typeof value === "string" },
  uid: { wanted: "string", fits: (value) => typeof value === "string" },
  labels: { wanted: "map[string]string", fits: isStringMap },
  annotations: { wanted: "map[string]string", fits: isStringMap },
  finalizers: { wanted: "[]string", fits: (value) => Array.isArray(value) && value.every((item) => typeof item === "string") },
  ownerReferences: {
    wanted: "[]OwnerReference",
    fits: (value) =>
      Array.isArray(value) &&
      value.every((item) => isObject(item) && ["apiVersion", "kind", "name", "uid"].every((field) => typeof item[field] === "string"))
  },
  managedFields: { wanted: "[]ManagedFieldsEntry", fits: (value) => Array.isArray(value) && value.every(isObject) }
}

/** A JSON value's type in the words of a real server. */
const jsonType = (value: unknown): string => (Array.isArray(value) ? "array" : typeof value === "boolean" ? "bool" : typeof value)

/** Makes a decoded body an object of the resource of the request, or says what is wrong with it. */
const conform = (body: JsonObject, info: ResourceInfo, access: ResourceRequest["access"]): KubeObject => {
  const expected = apiVersionOf(info)
  const object: JsonObject = { apiVersion: expected, kind: info.kind, ...body, metadata: body["metadata"] ?? {} }
  if (info.custom !== undefined && typeof body["kind"] !== "string") throw badRequest("Object 'Kind' is missing in the body of the request")
  if (object["kind"] !== info.kind && info.custom !== undefined) {
    const name = asString(asObject(object["metadata"])["name"]) ?? ""
    throw invalid({ group: info.group, kind: String(object["kind"]) }, name, [invalidValue("kind", object["kind"], `must be ${info.kind}`)])
  }
  if (object["kind"] !== info.kind) {
    throw badRequest(`the kind in the data (${String(object["kind"])}) does not match the expected kind (${info.kind})`)
  }
  if (object["apiVersion"] !== expected) {
    throw badRequest(`the API version in the data (${String(object["apiVersion"])}) does not match the expected API version (${expected})`)
  }
  if (!isKubeObject(object)) throw badRequest(`${info.kind} in version "${info.version}" cannot be handled: metadata must be an object`)
  const { metadata } = object
  for (const [field, value] of Object.entries(metadata)) {
    if (value === null) delete object.metadata[field as keyof typeof metadata]
    else if (metadataTypes[field]?.fits(value) === false) {
      throw badRequest(
        `${info.kind} in version "${info.version}" cannot be handled as a ${info.kind}: json: cannot unmarshal ${jsonType(value)} into Go struct ` +
          `field ObjectMeta.metadata.${field} of type ${metadataTypes[field]?.wanted}`
      )
    }
  }
  if (access.name !== "" && metadata.name !== undefined && metadata.name !== access.name) {
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${access.name})`)
  }
  if (access.name !== "") metadata.name = access.name
  if (info.namespaced) {
    if (metadata.namespace && metadata.namespace !== access.namespace) {
      throw badRequest("the namespace of the provided object does not match the namespace sent on the request")
    }
    metadata.namespace = access.namespace
  } else delete metadata.namespace
  return object
}

const validations: ReadonlyArray<string> = ["", "Ignore", "Strict", "Warn"]

/** `fieldValidation`: what to do about fields that the schema does not know. Returns warnings. */
const unknownFields = (info: ResourceInfo, object: KubeObject, query: URLSearchParams, options: OptionsKind): ReadonlyArray<string> => {
  const mode = query.get("fieldValidation") ?? "Warn"
  if (!validations.includes(mode)) throw invalid({ group: "meta.k8s.io", kind: options }, "", [unsupportedValue("fieldValidation", mode, validations)])
  if (info.custom === undefined || mode === "Ignore") return []
  const warnings = info.custom.schema.prune(structuredClone(object)).map((path) => `unknown field ${JSON.stringify(path)}`)
  if (mode === "Strict" && warnings.length > 0) {
    throw badRequest(`${info.kind} in version "${info.version}" cannot be handled as a ${info.kind}: strict decoding error: ${warnings.join(", ")}`)
  }
  return warnings
}

const managed = (
  context: ServerContext,
  request: ResourceRequest,
  info: ResourceInfo,
  before: KubeObject | undefined,
  draft: KubeObject
): KubeObject => {
  const onlyStatus = request.access.subresource === "status"
  const after = structuredClone(onlyStatus && before !== undefined ? { ...before, status: draft["status"] } : draft)
  if (!onlyStatus && (hasStatus(info) || before === undefined)) {
    if (before?.["status"] === undefined) delete after["status"]
    else after["status"] = before["status"]
  }
  after.metadata = { ...after.metadata }
  trackUpdate(before, after, managerOf(request, "Update"), context.now(), applyListType(info))
  const { managedFields: _, ...metadata } = draft.metadata
  return {
    ...draft,
    metadata: after.metadata.managedFields === undefined ? metadata : { ...metadata, managedFields: after.metadata.managedFields }
  }
}

const mustExist = (context: ServerContext, info: ResourceInfo, access: ResourceRequest["access"]): KubeObject => {
  const found = context.store.get(info, access.namespace, access.name)
  if (found === undefined) throw notFound(info, access.name)
  return found
}

export const createObject = async (context: ServerContext, request: ResourceRequest, info: ResourceInfo): Promise<Written> => {
  const body = await readObject(request.req)
  if (body === undefined) throw badRequest("the body of the request was empty")
  const object = conform(body, info, request.access)
  const warnings = unknownFields(info, object, request.query, "CreateOptions")
  const draft = managed(context, request, info, undefined, object)
  return { code: 201, object: context.store.create(info, draft, { dryRun: isDryRun(request.query, "CreateOptions") }), warnings }
}

const store = (context: ServerContext, request: ResourceRequest, info: ResourceInfo, draft: KubeObject): KubeObject => {
  const patch = request.access.verb === "patch"
  const options = { dryRun: isDryRun(request.query, patch ? "PatchOptions" : "UpdateOptions"), patch }
  return request.access.subresource === "status"
    ? context.store.updateStatus(info, draft, options)
    : context.store.update(info, draft, options)
}

export const replaceObject = async (context: ServerContext, request: ResourceRequest, info: ResourceInfo): Promise<Written> => {
  const body = await readObject(request.req)
  if (body === undefined) throw badRequest("the body of the request was empty")
  const object = conform(body, info, request.access)
  const before = mustExist(context, info, request.access)
  const warnings = unknownFields(info, object, request.query, "UpdateOptions")
  return { code: 200, object: store(context, request, info, managed(context, request, info, before, object)), warnings }
}

const jsonPatch = "application/json-patch+json"
const mergePatch = "application/merge-patch+json"
const strategicPatch = "application/strategic-merge-patch+json"
const applyPatch = "application/apply-patch+yaml"

const apply = (context: ServerContext, request: ResourceRequest, info: ResourceInfo, patch: unknown): Written => {
  if (!isObject(patch)) throw badRequest("error decoding YAML: the applied configuration must be an object")
  if (request.query.get("fieldManager") === null) {
    throw invalid({ group: "meta.k8s.io", kind: "PatchOptions" }, "", [required("fieldManager", "is required for apply patch")])
  }
  if (asString(patch["apiVersion"]) === undefined || asString(patch["kind"]) === undefined) {
    throw badRequest("the applied configuration must have apiVersion and kind")
  }
  const applied = conform(patch, info, request.access)
  if (applied.metadata.managedFields !== undefined) throw badRequest("metadata.managedFields must be nil")
  const live = context.store.get(info, request.access.namespace, request.access.name)
  const onlyStatus = request.access.subresource === "status"
  if (live === undefined && onlyStatus) throw notFound(info, request.access.name)
  const { status, spec: _, ...meta } = applied
  const wanted: KubeObject = onlyStatus ? { ...meta, ...(status === undefined ? {} : { status }) } : applied
  if (!onlyStatus && hasStatus(info)) delete wanted["status"]
  const warnings = unknownFields(info, wanted, request.query, "PatchOptions")
  const merged = serverSideApply(live, wanted, managerOf(request, "Apply"), {
    force: request.query.get("force") === "true",
    now: context.now(),
    listType: applyListType(info)
  })
  if (live !== undefined) return { code: 200, object: store(context, request, info, merged), warnings }
  return { code: 201, object: context.store.create(info, merged, { dryRun: isDryRun(request.query, "PatchOptions") }), warnings }
}

export const patchObject = async (context: ServerContext, request: ResourceRequest, info: ResourceInfo): Promise<Written> => {
  const type = mediaType(request.req)
  const supported = [jsonPatch, mergePatch, ...(info.custom === undefined ? [strategicPatch] : []), applyPatch]
  if (!supported.includes(type)) throw unsupportedMediaType(type, supported)
  const patch = parseText((await readBody(request.req)).toString("utf8"), type === applyPatch, "error decoding patch")
  if (type === mergePatch && !isObject(patch)) {
    throw badRequest(`error decoding patch: json: cannot unmarshal ${jsonType(patch)} into Go value of type map[string]interface {}`)
  }
  if (type === applyPatch) return apply(context, request, info, patch)
  const before = mustExist(context, info, request.access)
  const patched =
    type === jsonPatch
      ? applyJsonPatch(before, patch)
      : type === mergePatch
        ? applyMergePatch(before, patch)
        : applyStrategicMergePatch(before, patch)
  if (!isObject(patched)) throw badRequest("the patch leaves no object")
  const object = conform(patched, info, request.access)
  const warnings = unknownFields(info, object, request.query, "PatchOptions")
  return { code: 200, object: store(context, request, info, managed(context, request, info, before, object)), warnings }
}
