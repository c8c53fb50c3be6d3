/**
 * The subresource `scale` of workloads: how many pods are wanted, as an object of its own kind (`kubectl scale`).
 *
 * Not here: how many pods there are, which the controllers see to.
 */

import {
  asNumber,
  asObject,
  asObjects,
  asString,
  asStrings,
  at,
  isObject,
  type JsonObject
} from "../../../src/domain/json.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import type { ResourceInfo } from "../schema/resource-info.ts"
import { mediaType, parseText, readBody } from "../wire/http-io.ts"
import { invalid, invalidValue, notFound, staleVersion } from "../wire/status-error.ts"
import { applyJsonPatch, applyMergePatch } from "./patches.ts"
import type { ResourceRequest, ServerContext } from "./server-context.ts"

/** A selector as `kubectl get -l` takes it. */
const selectorText = (selector: unknown): string => {
  const labels = Object.entries(asObject(at(selector, "matchLabels"))).map(([key, value]) => `${key}=${String(value)}`)
  const requirements = asObjects(at(selector, "matchExpressions")).map(({ key, operator, values }) => {
    const name = asString(key) ?? ""
    if (operator === "Exists") return name
    if (operator === "DoesNotExist") return `!${name}`
    return `${name} ${operator === "In" ? "in" : "notin"} (${asStrings(values).toSorted().join(",")})`
  })
  return [...labels.toSorted(), ...requirements].join(",")
}

const scaleOf = ({ metadata, spec, status }: KubeObject): JsonObject => {
  const { creationTimestamp, name, namespace, resourceVersion, uid } = metadata
  const replicas = asNumber(at(spec, "replicas")) ?? 0
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: replicas === 0 ? {} : { replicas },
    status: { replicas: asNumber(at(status, "replicas")) ?? 0, selector: selectorText(at(spec, "selector")) }
  }
}

const found = ({ store }: ServerContext, { access }: ResourceRequest, info: ResourceInfo): KubeObject => {
  const object = store.get(info, access.namespace, access.name)
  if (object === undefined) throw notFound(info, access.name)
  return object
}

export const readScale = (context: ServerContext, request: ResourceRequest, info: ResourceInfo): JsonObject =>
  scaleOf(found(context, request, info))

/** Writes the number of pods that a Scale names, or that a patch of the Scale leads to, and gives the new Scale. */
export const writeScale = async (
  context: ServerContext,
  request: ResourceRequest,
  info: ResourceInfo
): Promise<JsonObject> => {
  const { access, req } = request
  const before = found(context, request, info)
  const sent = parseText((await readBody(req)).toString("utf8"), false, "error decoding the body")
  const applyPatch = mediaType(req) === "application/json-patch+json" ? applyJsonPatch : applyMergePatch
  const wanted = access.verb === "patch" ? applyPatch(scaleOf(before), sent) : sent
  const version = isObject(wanted) ? asString(at(wanted, "metadata", "resourceVersion")) : undefined
  if (version !== undefined && version !== before.metadata.resourceVersion) throw staleVersion(info, access.name)
  const replicas = asNumber(at(wanted, "spec", "replicas")) ?? 0
  if (replicas < 0)
    throw invalid({ group: "autoscaling", kind: "Scale" }, access.name, [
      invalidValue("spec.replicas", replicas, "must be greater than or equal to 0")
    ])
  const after = context.store.modify(info, access.namespace, access.name, (draft) => {
    draft["spec"] = { ...asObject(draft["spec"]), replicas }
  })
  return scaleOf(after)
}
