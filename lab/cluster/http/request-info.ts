/**
 * Reads from method and path what a request is about, as k8s.io/apiserver's `RequestInfo` does. Whether the resource
 * exists is not known here.
 */

import type { Access } from "./rbac.ts"

export interface RequestInfo {
  readonly path: string
  readonly query: URLSearchParams
  readonly access: Access
}

const verbs: Record<string, string> = {
  GET: "get",
  HEAD: "get",
  POST: "create",
  PUT: "update",
  PATCH: "patch",
  DELETE: "delete"
}

const isTrue = (value: string | null): boolean => value !== null && value !== "0" && value.toLowerCase() !== "false"

const decode = (part: string): string => {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Paths other than `/api/v1/…` and `/apis/<group>/<version>/…` lead to no resource. */
export const parseRequest = (method: string, url: string): RequestInfo => {
  const mark = url.indexOf("?")
  const path = mark < 0 ? url : url.slice(0, mark)
  const query = new URLSearchParams(mark < 0 ? "" : url.slice(mark + 1))
  const parts = path
    .split("/")
    .filter((part) => part !== "")
    .map(decode)
  const access = resourceOf(method, parts, query) ?? { _tag: "NonResource", verb: method.toLowerCase(), path }
  return { path, query, access }
}

/** The parts of a path below `/api/v1` or `/apis/<group>/<version>`. */
interface Below {
  /** `proxy` and `watch` may stand in front of the resource, from older versions of the API. */
  readonly prefix: string | undefined
  readonly namespace: string
  readonly rest: ReadonlyArray<string>
}

const readBelow = (all: ReadonlyArray<string>): Below => {
  const prefix = (all[0] === "proxy" || all[0] === "watch") && all.length > 1 ? all[0] : undefined
  const rest = prefix === undefined ? all : all.slice(1)
  if (rest[0] !== "namespaces" || rest.length <= 1) return { prefix, namespace: "", rest }
  // `/namespaces/x` and the namespace's own subresources mean the namespace itself.
  const isInside = rest.length > 2 && rest[2] !== "status" && rest[2] !== "finalize"
  return { prefix, namespace: rest[1] ?? "", rest: isInside ? rest.slice(2) : rest }
}

const verbOf = (verb: string, name: string, query: URLSearchParams): string => {
  if (name !== "") return verb
  if (verb === "get") return isTrue(query.get("watch")) ? "watch" : "list"
  return verb === "delete" ? "deletecollection" : verb
}

const resourceOf = (method: string, parts: ReadonlyArray<string>, query: URLSearchParams): Access | undefined => {
  const isCore = parts[0] === "api"
  if (!isCore && parts[0] !== "apis") return undefined
  const [group, version, ...all] = isCore ? ["", ...parts.slice(1)] : parts.slice(1)
  if (group === undefined || version === undefined || all.length === 0) return undefined
  const { namespace, prefix, rest } = readBelow(all)
  const [resource = "", name = "", subresource = ""] = rest
  const verb = verbOf(prefix ?? verbs[method] ?? "", name, query)
  return {
    _tag: "Resource",
    verb,
    group,
    version,
    resource,
    subresource,
    namespace,
    name: selectedName(verb, name, query)
  }
}

/** A list or watch of `metadata.name=x` counts as a request to x, so that `resourceNames` can allow it. */
const selectedName = (verb: string, name: string, query: URLSearchParams): string => {
  if (name !== "" || !["list", "watch", "deletecollection"].includes(verb)) return name
  const match = /^metadata\.name==?([^,]+)$/.exec(query.get("fieldSelector") ?? "")
  return match?.[1] ?? ""
}
