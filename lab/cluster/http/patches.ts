/**
 * JSON patch, merge patch and strategic merge patch, applied to an object. There is no server-side apply.
 */

import fastJsonPatch, { type Operation } from "fast-json-patch"
import { type JsonObject, asArray, isObject, jsonEqual, setField } from "../../../src/domain/json.ts"
import { ApiError, badRequest } from "../wire/status-error.ts"

const unprocessable = (): ApiError =>
  new ApiError(422, "Invalid", "the server rejected our request due to an error in our request", {})

/** RFC 6902. Throws 400 for an invalid patch, 422 for a patch that does not fit the object. */
export const applyJsonPatch = (object: JsonObject, patch: unknown): JsonObject => {
  if (!Array.isArray(patch) || !patch.every(isOperation)) {
    throw badRequest("error decoding patch: a JSON patch is an array of {op, path, value}")
  }
  try {
    const result: unknown = fastJsonPatch.applyPatch(structuredClone(object), patch, true, true, true).newDocument
    if (!isObject(result)) throw unprocessable()
    return result
  } catch (cause) {
    if (cause instanceof ApiError) throw cause
    throw unprocessable()
  }
}

const operations = ["add", "remove", "replace", "move", "copy", "test"]

const isOperation = (item: unknown): item is Operation =>
  isObject(item) &&
  typeof item["path"] === "string" &&
  typeof item["op"] === "string" &&
  operations.includes(item["op"])

/** RFC 7386. */
export const applyMergePatch = (target: unknown, patch: unknown): unknown => {
  if (!isObject(patch)) return structuredClone(patch)
  const result: JsonObject = isObject(target) ? structuredClone(target) : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else setField(result, key, applyMergePatch(Object.hasOwn(result, key) ? result[key] : undefined, value))
  }
  return result
}

/** The key by which a strategic merge patch merges a list, by the name of the list (k8s.io/api, struct tags). */
const mergeKeys: Readonly<Record<string, string>> = {
  containers: "name",
  initContainers: "name",
  ephemeralContainers: "name",
  env: "name",
  volumes: "name",
  volumeMounts: "mountPath",
  imagePullSecrets: "name",
  hostAliases: "ip",
  topologySpreadConstraints: "topologyKey",
  conditions: "type",
  ownerReferences: "uid",
  secrets: "name",
  podIPs: "ip",
  hostIPs: "ip"
}

/** The merge key of the list at a path of field names (`[]`: any item); `undefined` if it is replaced as a whole. */
const mergeKey = (path: ReadonlyArray<string>): string | undefined => {
  const field = path.at(-1) ?? ""
  if (field === "ports") return path.length === 2 && path[0] === "spec" ? "port" : "containerPort"
  return Object.hasOwn(mergeKeys, field) ? mergeKeys[field] : undefined
}

const orderDirective = "$setElementOrder/"
const deleteDirective = "$deleteFromPrimitiveList/"

const mergeKeyedList = (
  target: ReadonlyArray<unknown>,
  patch: ReadonlyArray<unknown>,
  key: string,
  path: ReadonlyArray<string>
): Array<unknown> => {
  if (patch.some((item) => isObject(item) && item["$patch"] === "replace")) {
    return patch.filter((item) => !(isObject(item) && item["$patch"] === "replace"))
  }
  let result = [...target]
  for (const item of patch) {
    if (!isObject(item) || item[key] === undefined)
      throw badRequest(`map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`)
    const same = (other: unknown): boolean => isObject(other) && jsonEqual(other[key], item[key])
    if (item["$patch"] === "delete") {
      result = result.filter((other) => !same(other))
      continue
    }
    const index = result.findIndex(same)
    if (index < 0) result.push(applyStrategic({}, item, [...path, "[]"]))
    else result[index] = applyStrategic(result[index], item, [...path, "[]"])
  }
  return result
}

const inOrder = (
  list: ReadonlyArray<unknown>,
  order: ReadonlyArray<unknown>,
  key: string | undefined
): Array<unknown> => {
  const identity = (item: unknown): unknown => (key !== undefined && isObject(item) ? item[key] : item)
  const rank = (item: unknown): number => order.findIndex((wanted) => jsonEqual(identity(wanted), identity(item)))
  const ranked = list.filter((item) => rank(item) >= 0).toSorted((a, b) => rank(a) - rank(b))
  return [...ranked, ...list.filter((item) => rank(item) < 0)]
}

/** The list that a list of a patch makes of the list that there is. */
const mergeList = (current: unknown, value: ReadonlyArray<unknown>, path: ReadonlyArray<string>): unknown => {
  const patchKey = mergeKey(path)
  if (path.at(-1) === "finalizers") return [...new Set([...asArray(current), ...value])]
  return patchKey !== undefined && value.every(isObject)
    ? mergeKeyedList(asArray(current), value, patchKey, path)
    : structuredClone(value)
}

/** Follows `$deleteFromPrimitiveList` and `$setElementOrder`. */
const follow = (result: JsonObject, directive: string, value: unknown, path: ReadonlyArray<string>): void => {
  if (directive.startsWith(deleteDirective)) {
    const key = directive.slice(deleteDirective.length)
    const gone = asArray(value)
    if (Array.isArray(result[key])) result[key] = asArray(result[key]).filter((item) => !gone.includes(item))
  } else if (directive.startsWith(orderDirective)) {
    const key = directive.slice(orderDirective.length)
    if (Array.isArray(result[key]))
      result[key] = inOrder(asArray(result[key]), asArray(value), mergeKey([...path, key]))
  }
}

const applyStrategic = (target: unknown, patch: unknown, path: ReadonlyArray<string>): unknown => {
  if (!isObject(patch)) return structuredClone(patch)
  if (patch["$patch"] === "replace") {
    const { $patch: _, ...rest } = patch
    return structuredClone(rest)
  }
  const result: JsonObject = isObject(target) ? structuredClone(target) : {}
  const retained = patch["$retainKeys"]
  if (Array.isArray(retained)) for (const key of Object.keys(result)) if (!retained.includes(key)) delete result[key]
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith("$")) continue
    const child = [...path, key]
    const current = Object.hasOwn(result, key) ? result[key] : undefined
    if (value === null || (isObject(value) && value["$patch"] === "delete")) delete result[key]
    else if (Array.isArray(value)) setField(result, key, mergeList(current, value, child))
    else setField(result, key, applyStrategic(current, value, child))
  }
  for (const [directive, value] of Object.entries(patch)) follow(result, directive, value, path)
  return result
}

/** Strategic merge patch of a built-in kind, with the directives that `kubectl` writes. */
export const applyStrategicMergePatch = (target: JsonObject, patch: unknown): JsonObject => {
  if (!isObject(patch)) throw badRequest("error decoding patch: a strategic merge patch is an object")
  const result = applyStrategic(target, patch, [])
  return isObject(result) ? result : {}
}
