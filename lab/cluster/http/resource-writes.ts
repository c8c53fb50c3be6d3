/**
 * Creates, updates and patches: from the body of a request to the object in the store, with field validation and dry
 * runs. The patches themselves are computed in `patches.ts`.
 */

import { isObject } from "../../../src/domain/json.ts"
import { jsonType } from "../schema/decoding.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import type { ResourceInfo } from "../schema/resource-info.ts"
import { mediaType, parseText, readBody, readObject } from "../wire/http-io.ts"
import { badRequest, invalid, notFound, unsupportedMediaType, unsupportedValue } from "../wire/status-error.ts"
import { applyJsonPatch, applyMergePatch, applyStrategicMergePatch } from "./patches.ts"
import {
  type OptionsKind,
  conform,
  fieldValidationOf,
  readBodyAs,
  readPatched,
  type SentObject,
  warningsOf
} from "./sent-object.ts"
import type { ResourceRequest, ServerContext } from "./server-context.ts"

export interface Written {
  readonly code: 200 | 201
  readonly object: KubeObject
  readonly warnings: ReadonlyArray<string>
}

const isDryRun = (query: URLSearchParams, options: OptionsKind): boolean => {
  const value = query.get("dryRun")
  if (value === null || value === "") return false
  if (value !== "All")
    throw invalid({ group: "meta.k8s.io", kind: options }, "", [unsupportedValue("dryRun", [value], ["All"])])
  return true
}

const mustExist = (context: ServerContext, info: ResourceInfo, access: ResourceRequest["access"]): KubeObject => {
  const found = context.store.get(info, access.namespace, access.name)
  if (found === undefined) throw notFound(info, access.name)
  return found
}

/** The object of a POST or PUT, with warnings. */
const readSent = async (
  request: ResourceRequest,
  info: ResourceInfo,
  options: OptionsKind
): Promise<Pick<Written, "object" | "warnings">> => {
  const body = await readObject(request.req)
  if (body === undefined) throw badRequest("the body of the request was empty")
  const mode = fieldValidationOf(request.query, options)
  const refuse = readBodyAs(info)
  const { object, unknown }: SentObject = conform(body, info, request.access, refuse)
  return { object, warnings: warningsOf(mode, unknown, refuse) }
}

export const createObject = async (
  context: ServerContext,
  request: ResourceRequest,
  info: ResourceInfo
): Promise<Written> => {
  const { object, warnings } = await readSent(request, info, "CreateOptions")
  const dryRun = isDryRun(request.query, "CreateOptions")
  const asked = ["fieldManager", "fieldValidation"].flatMap((name) => {
    const value = request.query.get(name)
    return value === null ? [] : [[name, value] as const]
  })
  const options = { ...(dryRun ? { dryRun: ["All"] } : {}), ...Object.fromEntries(asked) }
  const admitted = context.admission.admit({ info, object, identity: request.identity, options })
  const wanted = admitted === undefined ? object : await admitted
  return { code: 201, object: context.store.create(info, wanted, { dryRun }), warnings }
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
  const { object, warnings } = await readSent(request, info, "UpdateOptions")
  mustExist(context, info, request.access)
  return { code: 200, object: store(context, request, info, object), warnings }
}

const mergePatch = "application/merge-patch+json"

const patches: Readonly<Record<string, (before: KubeObject, patch: unknown) => unknown>> = {
  "application/json-patch+json": applyJsonPatch,
  [mergePatch]: applyMergePatch,
  "application/strategic-merge-patch+json": applyStrategicMergePatch
}

export const patchObject = async (
  context: ServerContext,
  request: ResourceRequest,
  info: ResourceInfo
): Promise<Written> => {
  const type = mediaType(request.req)
  const supported = Object.keys(patches).slice(0, info.custom === undefined ? 3 : 2)
  const apply = supported.includes(type) ? patches[type] : undefined
  if (apply === undefined) throw unsupportedMediaType(type, supported)
  const patch = parseText((await readBody(request.req)).toString("utf8"), false, "error decoding patch")
  if (type === mergePatch && !isObject(patch)) {
    throw badRequest(
      `error decoding patch: json: cannot unmarshal ${jsonType(patch)} into Go value of type map[string]interface {}`
    )
  }
  const mode = fieldValidationOf(request.query, "PatchOptions")
  const patched = apply(mustExist(context, info, request.access), patch)
  if (!isObject(patched)) throw badRequest("the patch leaves no object")
  const refuse = readPatched(patched)
  const { object, unknown } = conform(patched, info, request.access, refuse)
  const warnings = warningsOf(mode, unknown.toSorted(), refuse)
  return { code: 200, object: store(context, request, info, object), warnings }
}
