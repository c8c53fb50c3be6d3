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
  const nonResource = (): RequestInfo => ({
    path,
    query,
    access: { _tag: "NonResource", verb: method.toLowerCase(), path }
  })
  const parts = path
    .split("/")
    .filter((part) => part !== "")
    .map(decode)
  const core = parts[0] === "api"
  if (!core && parts[0] !== "apis") return nonResource()
  const [group, version, ...all] = core ? ["", ...parts.slice(1)] : parts.slice(1)
  if (group === undefined || version === undefined || all.length === 0) return nonResource()

  let verb = verbs[method] ?? ""
  let rest = all
  if ((rest[0] === "proxy" || rest[0] === "watch") && rest.length > 1) {
    verb = rest[0]
    rest = rest.slice(1)
  }
  let namespace = ""
  if (rest[0] === "namespaces" && rest.length > 1) {
    namespace = rest[1] ?? ""
    // `/namespaces/x` and the namespace's own subresources mean the namespace itself.
    if (rest.length > 2 && rest[2] !== "status" && rest[2] !== "finalize") rest = rest.slice(2)
  }
  const [resource = "", name = "", subresource = ""] = rest
  if (name === "" && verb === "get") verb = isTrue(query.get("watch")) ? "watch" : "list"
  if (name === "" && verb === "delete") verb = "deletecollection"
  return {
    path,
    query,
    access: {
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
}

/** A list or watch of `metadata.name=x` counts as a request to x, so that `resourceNames` can allow it. */
const selectedName = (verb: string, name: string, query: URLSearchParams): string => {
  if (name !== "" || !["list", "watch", "deletecollection"].includes(verb)) return name
  const match = /^metadata\.name==?([^,]+)$/.exec(query.get("fieldSelector") ?? "")
  return match?.[1] ?? ""
}
