/**
 * A person's request for a member's API server, which comes to the primary below `mirrordclusters/NAME/proxy` of the
 * aggregated API: the member, the path that is left for it, and the verb that the person needs at the primary.
 *
 * Not here: as whom it is made in the member (impersonation.ts), and its headers (passed-headers.ts).
 */

import * as Result from "effect/Result"
import { quoted } from "../clean-text.ts"
import { type ClusterName, clusterName } from "../fleet/cluster-name.ts"
import { mirrordClusters } from "../resources/mirrord-cluster.ts"
import { operatorApiRoot } from "../resources/operator-api.ts"

/** The subresource of a MirrordCluster on which the primary's API server authorises such requests. */
export const proxySubresource = "proxy"

/** Verbs on `mirrordclusters/proxy`. */
export type ProxyVerb = "get" | "create" | "update" | "patch" | "delete"

/** The verb by which the primary's API server authorises a request, by its method. */
const verbs: ReadonlyMap<string, ProxyVerb> = new Map([
  ["GET", "get"],
  ["HEAD", "get"],
  ["POST", "create"],
  ["PUT", "update"],
  ["PATCH", "patch"],
  ["DELETE", "delete"]
])

/** A request as it arrived. */
export interface ArrivedRequest {
  readonly method: string
  /** Path and query. */
  readonly url: string
  /** Whether it wants to leave HTTP: `exec`, `attach`, `port-forward`. */
  readonly isUpgrade: boolean
}

export interface ProxiedRequest {
  readonly cluster: ClusterName
  /** The member's own path, with its query. Begins with `/`. */
  readonly target: string
  /** The same without the query, which may hold what a person runs. */
  readonly path: string
  readonly isUpgrade: boolean
  /** The verb that the person must have. An upgrade reaches into pods whatever its method is. */
  readonly verb: ProxyVerb
  /** Whether the primary's API server has asked for another verb than {@link verb}, so that it is still to be asked. */
  readonly isUnasked: boolean
}

/** Whether a parameter of a query is set, as API servers read one that is true or false. */
const isSet = (query: URLSearchParams, name: string): boolean => {
  const value = query.get(name)?.toLowerCase()
  return value !== undefined && value !== "false" && value !== "0"
}

/**
 * Whether a request is to last: an upgrade, a watch, a log that is followed. `url`: a member's own path with its query.
 */
export const isLasting = (url: string, isUpgrade: boolean): boolean => {
  const [path = ""] = url.split("?", 1)
  // All behind the first question mark is the query, further ones too.
  const parameters = new URLSearchParams(url.slice(path.length + 1))
  return isUpgrade || isSet(parameters, "watch") || isSet(parameters, "follow") || path.split("/").includes("watch")
}

const root = `${operatorApiRoot}/${mirrordClusters.plural}/`
/** The member's name, its path and its query; {@link proxySubresource} stands in it. */
const belowRoot = /^([^/?]+)\/proxy(\/[^?]*)?(\?.*)?$/u
const matched = (url: string): RegExpExecArray | null =>
  url.startsWith(root) ? belowRoot.exec(url.slice(root.length)) : null

/** Where a member's API server is served at the primary; below it begin the member's own paths. */
export const proxyRoot = (cluster: string): string => `${root}${encodeURIComponent(cluster)}/${proxySubresource}`

/** Whether a URL is one of {@link proxyRoot}, be it well-formed or not. */
export const isProxied = (url: string): boolean => matched(url) !== null

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

/** Why a member's path is refused, a clause; `undefined` if it can mean one thing alone. */
const pathProblem = (path: string): string | undefined => {
  if (/[^!-~]|[#\\]/u.test(path)) return "it holds a character that a URL has to encode"
  if (path.includes("//")) return "it holds an empty part"
  for (const part of path.split("/")) {
    const text = decoded(part)
    if (text === undefined) return "it is not percent-encoded UTF-8"
    if (text === "." || text === "..") return `it holds the part ${quoted(text)}`
    if (/[/\\\0]/u.test(text)) return "it holds an encoded slash"
  }
  return undefined
}

/** Reads a request of which {@link isProxied} is true. The failure is a sentence. */
export const readProxied = ({ isUpgrade, method, url }: ArrivedRequest): Result.Result<ProxiedRequest, string> => {
  const [, name = "", path = "/", query = ""] = matched(url) ?? []
  const cluster = decoded(name)
  const problem = cluster === undefined || cluster.includes("/") ? "the cluster's name is none" : pathProblem(path)
  if (cluster === undefined || problem !== undefined)
    return Result.fail(`The path ${quoted(path)} is not passed on: ${problem}; write it plainly.`)
  const asked = verbs.get(method)
  if (asked === undefined)
    return Result.fail(`The method ${quoted(method)} is not passed on; use one of ${[...verbs.keys()].join(", ")}.`)
  const verb = isUpgrade ? "create" : asked
  return Result.succeed({
    cluster: clusterName(cluster),
    target: `${path}${query}`,
    path,
    isUpgrade,
    verb,
    isUnasked: verb !== asked
  })
}

/** The verb of a request, as both audit lines name it. `method`: one of those that are passed on. */
export const verbOf = (method: string, isUpgrade: boolean): ProxyVerb =>
  isUpgrade ? "create" : (verbs.get(method) ?? "get")
