/**
 * The query of a list request: versions and pages (`resourceVersion`, `limit`, `continue`), with a real server's
 * refusals. Selecting objects is the store's part.
 */

import { asString, isObject, type JsonObject } from "../../../src/domain/json.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import type { ObjectList } from "../store/object-store.ts"
import { ApiError, badRequest, forbiddenField, invalid } from "../wire/status-error.ts"

/** Refuses a list at an invalid or a future version; throws 400, 422 or 504. */
export const checkListVersion = (query: URLSearchParams, current: string): void => {
  const version = query.get("resourceVersion") ?? ""
  if (version === "" && query.get("resourceVersionMatch") !== null && query.get("sendInitialEvents") === null) {
    throw invalid({ group: "meta.k8s.io", kind: "ListOptions" }, "", [
      forbiddenField("resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided")
    ])
  }
  if (!/^\d*$/.test(version)) {
    throw badRequest(
      `invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(version)}: strconv.ParseUint: ` +
        `parsing ${JSON.stringify(version)}: invalid syntax`
    )
  }
  if (Number(version) > Number(current)) {
    throw new ApiError(504, "Timeout", `Timeout: Too large resource version: ${version}, current: ${current}`, {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version", field: "" }],
      retryAfterSeconds: 1
    })
  }
}

/** The place at which a list goes on: after the key `start`, at the first page's version `rv`, else at the newest. */
interface Place {
  readonly rv: string | undefined
  readonly start: string
}

const readPlace = (token: string): Place => {
  try {
    const place: unknown = JSON.parse(Buffer.from(token, "base64url").toString("utf8"))
    if (isObject(place) && typeof place["start"] === "string")
      return { rv: asString(place["rv"]), start: place["start"] }
  } catch {
    // Not a token of this server.
  }
  throw badRequest("invalid continue token: continue key is not valid")
}

const tokenOf = (place: Place): string => Buffer.from(JSON.stringify(place)).toString("base64url")

const keyOf = ({ metadata: { name = "", namespace = "" } }: KubeObject): string => `${namespace}/${name}`

const forgotten = (place: Place | undefined): ApiError =>
  place === undefined
    ? new ApiError(410, "Expired", "The resourceVersion for the provided list is too old.")
    : new ApiError(
        410,
        "Expired",
        "The provided continue parameter is too old to display a consistent list result. You can start a new " +
          "list without the continue parameter, or " +
          ("use the continue token in this response to retrieve the remainder of the results. Continuing with the " +
            "provided token results in an inconsistent ") +
          ("list - objects that were created, modified, or deleted between the time the first chunk was returned " +
            "and now may show up in the list.")
      ).continuedBy(tokenOf({ rv: undefined, start: place.start }))

const listAt = (
  list: (at: number | undefined) => ObjectList,
  version: string | undefined,
  place: Place | undefined
): ObjectList => {
  try {
    return list(version === undefined ? undefined : Number(version))
  } catch (error) {
    throw error instanceof ApiError && error.code === 410 ? forgotten(place) : error
  }
}

/**
 * The page for which `limit` and `continue` ask. All pages of a list have the same version.
 *
 * @param list gives objects sorted by key, at a version or the newest; throws 410 for a version no longer known
 * @throws 400 for an invalid token, 410
 */
export const pageOf = (
  list: (at: number | undefined) => ObjectList,
  query: URLSearchParams
): { readonly items: ReadonlyArray<KubeObject>; readonly metadata: JsonObject } => {
  const token = query.get("continue") ?? ""
  const place = token === "" ? undefined : readPlace(token)
  const exact = query.get("resourceVersionMatch") === "Exact" ? (query.get("resourceVersion") ?? undefined) : undefined
  const { items: all, resourceVersion } = listAt(list, place === undefined ? exact : place.rv, place)
  const rest = place === undefined ? all : all.filter((item) => keyOf(item) > place.start)
  const limit = Number(query.get("limit") ?? 0)
  const items = limit > 0 ? rest.slice(0, limit) : rest
  const last = items.at(-1)
  if (last === undefined || items.length === rest.length) return { items, metadata: { resourceVersion } }
  // A real server counts the remaining items only if no selector filters them.
  const isFiltered = query.get("labelSelector") !== null || query.get("fieldSelector") !== null
  return {
    items,
    metadata: {
      resourceVersion,
      continue: tokenOf({ rv: resourceVersion, start: keyOf(last) }),
      ...(isFiltered ? {} : { remainingItemCount: rest.length - items.length })
    }
  }
}
