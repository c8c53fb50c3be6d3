import type { JsonObject } from "./json.ts"
import { isObject } from "./json.ts"
import type { KubeObject } from "./kube-object.ts"
import { ApiError, badRequest, forbiddenField, invalid } from "./status-error.ts"

/** Refuses a list at a version that is none, or that does not exist yet; throws 400, 422 or 504. */
export const checkListVersion = (query: URLSearchParams, current: string): void => {
  const version = query.get("resourceVersion") ?? ""
  if (version === "" && query.get("resourceVersionMatch") !== null && query.get("sendInitialEvents") === null) {
    throw invalid({ group: "meta.k8s.io", kind: "ListOptions" }, "", [
      forbiddenField("resourceVersionMatch", "resourceVersionMatch is forbidden unless resourceVersion is provided")
    ])
  }
  if (!/^\d*$/.test(version)) {
    throw badRequest(`invalid resource version: resourceVersion: Invalid value: ${JSON.stringify(version)}: strconv.ParseUint: parsing ${JSON.stringify(version)}: invalid syntax`)
  }
  if (Number(version) > Number(current)) {
    throw new ApiError(504, "Timeout", `Timeout: Too large resource version: ${version}, current: ${current}`, {
      causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version", field: "" }],
      retryAfterSeconds: 1
    })
  }
}

/** Where a list goes on: after an object's key, at the version of its first page. */
interface Place {
  readonly rv: string
  readonly start: string
}

const readPlace = (token: string): Place => {
  try {
    const place: unknown = JSON.parse(Buffer.from(token, "base64url").toString("utf8"))
    if (isObject(place) && typeof place["rv"] === "string" && typeof place["start"] === "string") return { rv: place["rv"], start: place["start"] }
  } catch {
    // Not a token of this server.
  }
  throw badRequest("invalid continue token: continue key is not valid")
}

const keyOf = ({ metadata: { name = "", namespace = "" } }: KubeObject): string => `${namespace}/${name}`

/** The part of a list, sorted by key, that `limit` and `continue` ask for. Later pages show objects as they are by then. Throws 400. */
export const pageOf = (
  list: { readonly items: ReadonlyArray<KubeObject>; readonly resourceVersion: string },
  query: URLSearchParams
): { readonly items: ReadonlyArray<KubeObject>; readonly metadata: JsonObject } => {
  const token = query.get("continue") ?? ""
  const place = token === "" ? undefined : readPlace(token)
  const resourceVersion = place?.rv ?? list.resourceVersion
  const rest = place === undefined ? list.items : list.items.filter((item) => keyOf(item) > place.start)
  const limit = Number(query.get("limit") ?? 0)
  const items = limit > 0 ? rest.slice(0, limit) : rest
  const last = items.at(-1)
  if (last === undefined || items.length === rest.length) return { items, metadata: { resourceVersion } }
  const next = Buffer.from(JSON.stringify({ rv: resourceVersion, start: keyOf(last) } satisfies Place)).toString("base64url")
  // How many there are beyond is known only where nothing is filtered.
  const isFiltered = query.get("labelSelector") !== null || query.get("fieldSelector") !== null
  return { items, metadata: { resourceVersion, continue: next, ...(isFiltered ? {} : { remainingItemCount: rest.length - items.length }) } }
}
