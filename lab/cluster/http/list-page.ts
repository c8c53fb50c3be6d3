/**
 * The pages of a list request (`limit`, `continue`), with a real server's refusals. A list's `resourceVersion` is not
 * looked at: each first page is the newest. Selecting objects is the store's part.
 */

import { asString, isObject, type JsonObject } from "../../../src/domain/json.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import type { ObjectList } from "../store/object-store.ts"
import { ApiError, badRequest } from "../wire/status-error.ts"

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

const forgotten = ({ start }: Place): ApiError =>
  new ApiError(
    410,
    "Expired",
    "The provided continue parameter is too old to display a consistent list result."
  ).continuedBy(tokenOf({ rv: undefined, start }))

const listAt = (list: (at: number | undefined) => ObjectList, place: Place | undefined): ObjectList => {
  if (place?.rv === undefined) return list(undefined)
  try {
    return list(Number(place.rv))
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
  const { items: all, resourceVersion } = listAt(list, place)
  const rest = place === undefined ? all : all.filter((item) => keyOf(item) > place.start)
  const limit = Number(query.get("limit") ?? 0)
  const items = limit > 0 ? rest.slice(0, limit) : rest
  const last = items.at(-1)
  return last === undefined || items.length === rest.length
    ? { items, metadata: { resourceVersion } }
    : { items, metadata: { resourceVersion, continue: tokenOf({ rv: resourceVersion, start: keyOf(last) }) } }
}
