/**
 * Answers requests to resources in the store: reads, deletions, logs, bindings, and the choice among all handlers by
 * verb and subresource. Bodies of creates, updates and patches are handled in `resource-writes.ts`, watches in
 * `watch-request.ts`. Authorization comes before, in `api-server.ts`.
 */

import { type JsonObject, asString, at } from "../../../src/domain/json.ts"
import { type KubeObject, apiVersionOf } from "../schema/kube-object.ts"
import { type ResourceInfo, storageKey } from "../schema/resource-info.ts"
import type { DeleteOptions } from "../store/object-store.ts"
import { type Representation, negotiate, readObject, sendJson } from "../wire/http-io.ts"
import {
  badRequest,
  invalid,
  methodNotAllowed,
  noSuchResource,
  notFound,
  unsupportedValue
} from "../wire/status-error.ts"
import { pageOf } from "./list-page.ts"
import { serveLog } from "./pod-log.ts"
import { createObject, patchObject, replaceObject, type Written } from "./resource-writes.ts"
import { answerReview, requestToken } from "./reviews.ts"
import { readScale, writeScale } from "./scale.ts"
import type { ResourceRequest, ServerContext } from "./server-context.ts"
import { partialMetadata, toTable } from "./tables.ts"
import { serveWatch } from "./watch-request.ts"

const includeObjectOf = ({ query }: ResourceRequest): string => query.get("includeObject") ?? "Metadata"

const listBody = (
  context: ServerContext,
  info: ResourceInfo,
  { items, metadata }: { readonly items: ReadonlyArray<KubeObject>; readonly metadata: JsonObject },
  shown: { readonly as: Representation; readonly includeObject: string }
): JsonObject => {
  switch (shown.as) {
    case "table":
      return toTable(info, items, {
        now: context.now(),
        includeObject: shown.includeObject,
        metadata,
        withHeader: true
      })
    case "metadata":
      return {
        kind: "PartialObjectMetadataList",
        apiVersion: "meta.k8s.io/v1",
        metadata,
        items: items.map(partialMetadata)
      }
    case "object":
      return { kind: info.listKind, apiVersion: apiVersionOf(info), metadata, items }
  }
}

const objectBody = (
  context: ServerContext,
  info: ResourceInfo,
  object: KubeObject,
  request: ResourceRequest
): unknown => {
  switch (negotiate(request.req.headers.accept)) {
    case "object":
      return object
    case "metadata":
      return partialMetadata(object)
    case "table":
      return toTable(info, [object], {
        now: context.now(),
        includeObject: includeObjectOf(request),
        metadata: { resourceVersion: object.metadata.resourceVersion },
        withHeader: true
      })
  }
}

const selection = ({ access, query }: ResourceRequest, info: ResourceInfo) => ({
  namespace: info.namespaced && access.namespace !== "" ? access.namespace : undefined,
  labelSelector: query.get("labelSelector") ?? undefined,
  fieldSelector: query.get("fieldSelector") ?? undefined
})

const policies: ReadonlyArray<string> = ["Foreground", "Background", "Orphan"]

const deleteOptions = async ({ req, query }: ResourceRequest): Promise<DeleteOptions> => {
  const body = (await readObject(req)) ?? {}
  const orphan = body["orphanDependents"] === true || query.get("orphanDependents") === "true"
  const dryRun = query.get("dryRun") ?? (Array.isArray(body["dryRun"]) ? body["dryRun"][0] : undefined)
  const policy = asString(body["propagationPolicy"]) ?? query.get("propagationPolicy") ?? undefined
  if (policy !== undefined && !policies.includes(policy)) {
    throw invalid({ group: "meta.k8s.io", kind: "DeleteOptions" }, "", [
      unsupportedValue("propagationPolicy", policy, [...policies, "nil"])
    ])
  }
  return {
    uid: asString(at(body, "preconditions", "uid")),
    resourceVersion: asString(at(body, "preconditions", "resourceVersion")),
    propagationPolicy: policy ?? (orphan ? "Orphan" : undefined),
    dryRun: dryRun === "All"
  }
}

/** For these kinds a real server answers a deletion with the old object, not with a Status. */
const returnedByDeletion = ["/pods", "/serviceaccounts", "/services"]

const deleteOne = async (context: ServerContext, request: ResourceRequest, info: ResourceInfo): Promise<void> => {
  const { access, res } = request
  const object = context.store.delete(info, access.namespace, access.name, await deleteOptions(request))
  if (
    returnedByDeletion.includes(storageKey(info)) ||
    context.store.get(info, access.namespace, access.name) !== undefined
  ) {
    sendJson(res, 200, objectBody(context, info, object, request))
    return
  }
  sendJson(res, 200, {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: {
      name: access.name,
      ...(info.group === "" ? {} : { group: info.group }),
      kind: info.resource,
      uid: object.metadata.uid
    }
  })
}

const deleteCollection = async (
  context: ServerContext,
  request: ResourceRequest,
  info: ResourceInfo
): Promise<void> => {
  const options = await deleteOptions(request)
  const { items } = context.store.list(info, selection(request, info))
  for (const { metadata } of items) {
    // An earlier deletion of this loop may have collected the object.
    if (context.store.get(info, metadata.namespace, metadata.name ?? "")?.metadata.uid !== metadata.uid) continue
    context.store.delete(info, metadata.namespace, metadata.name ?? "", options)
  }
  const metadata = { resourceVersion: context.store.resourceVersion }
  sendJson(request.res, 200, listBody(context, info, { items, metadata }, { as: "object", includeObject: "None" }))
}

const bindPod = async (
  context: ServerContext,
  { req, res, access }: ResourceRequest,
  info: ResourceInfo
): Promise<void> => {
  const nodeName = asString(at(await readObject(req), "target", "name"))
  if (nodeName === undefined) throw badRequest("target.name: Required value")
  context.store.modify(info, access.namespace, access.name, (draft) => {
    draft["spec"] = { ...(at(draft, "spec") as object), nodeName }
  })
  sendJson(res, 201, { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 })
}

const sendWritten = (
  context: ServerContext,
  request: ResourceRequest,
  info: ResourceInfo,
  { code, object, warnings }: Written
): void => {
  const body = objectBody(context, info, object, request)
  if (warnings.length > 0)
    request.res.setHeader(
      "Warning",
      warnings.map((text) => `299 - ${JSON.stringify(text)}`)
    )
  sendJson(request.res, code, body)
}

const serveSubresource = async (
  context: ServerContext,
  request: ResourceRequest,
  info: ResourceInfo
): Promise<void> => {
  const { access, req, res } = request
  if (!info.subresources.includes(access.subresource)) throw noSuchResource()
  switch (`${access.subresource} ${access.verb}`) {
    case "log get":
      return serveLog(context, request, info)
    case "binding create":
      return bindPod(context, request, info)
    case "token create":
      return sendJson(res, 201, requestToken(context, access.namespace, access.name, (await readObject(req)) ?? {}))
    case "scale get":
      return sendJson(res, 200, readScale(context, request, info))
    case "scale update":
    case "scale patch":
      return sendJson(res, 200, await writeScale(context, request, info))
    case "status get":
    case "ephemeralcontainers get":
      return serveObject(context, request, info)
    case "status update":
    case "ephemeralcontainers update":
      return sendWritten(context, request, info, await replaceObject(context, request, info))
    case "status patch":
    case "ephemeralcontainers patch":
      return sendWritten(context, request, info, await patchObject(context, request, info))
    default:
      throw methodNotAllowed()
  }
}

const serveObject = (context: ServerContext, request: ResourceRequest, info: ResourceInfo): void => {
  const found = context.store.get(info, request.access.namespace, request.access.name)
  if (found === undefined) throw notFound(info, request.access.name)
  sendJson(request.res, 200, objectBody(context, info, found, request))
}

const serveList = (context: ServerContext, request: ResourceRequest, info: ResourceInfo): void => {
  const { query, req, res } = request
  const shown = { as: negotiate(req.headers.accept), includeObject: includeObjectOf(request) }
  const page = pageOf((at) => context.store.list(info, { ...selection(request, info), at }), query)
  sendJson(res, 200, listBody(context, info, page, shown))
}

const serveCreate = async (context: ServerContext, request: ResourceRequest, info: ResourceInfo): Promise<void> => {
  const { access, req, res } = request
  if (access.name !== "" || (info.namespaced && access.namespace === "")) throw methodNotAllowed()
  if (info.verbs.length > 1) return sendWritten(context, request, info, await createObject(context, request, info))
  const review = answerReview(context, info.resource, request.identity, (await readObject(req)) ?? {})
  if (review === undefined) throw noSuchResource()
  sendJson(res, 201, review)
}

/** The resource that a request is about. Throws `ApiError`. */
const requestedResource = ({ store }: ServerContext, { access }: ResourceRequest): ResourceInfo => {
  const info = store.catalog.find(access)
  if (info === undefined) throw noSuchResource()
  if (info.namespaced && access.namespace === "" && access.name !== "") throw noSuchResource()
  if (!info.namespaced && access.namespace !== "" && info.resource !== "namespaces") throw noSuchResource()
  return info
}

/** Throws `ApiError`. */
export const serveResource = async (context: ServerContext, request: ResourceRequest): Promise<void> => {
  const { access } = request
  const info = requestedResource(context, request)
  if (access.subresource !== "") return serveSubresource(context, request, info)
  if (!info.verbs.includes(access.verb)) throw methodNotAllowed()
  switch (access.verb) {
    case "get":
      return serveObject(context, request, info)
    case "watch":
      return serveWatch(context, request, info)
    case "list":
      return serveList(context, request, info)
    case "create":
      return serveCreate(context, request, info)
    case "update":
      return sendWritten(context, request, info, await replaceObject(context, request, info))
    case "patch":
      return sendWritten(context, request, info, await patchObject(context, request, info))
    case "delete":
      return deleteOne(context, request, info)
    case "deletecollection":
      return deleteCollection(context, request, info)
    default:
      throw methodNotAllowed()
  }
}
