/**
 * The credentials of a configuration for one request: each request reads them, because they are renewed.
 *
 * Not here: connections, which last as long as credentials do (connections.ts, serve-lanes.ts).
 */

import { readFile } from "node:fs/promises"
import type { RequestOptions } from "node:https"
import type { KubeConfig } from "@kubernetes/client-node"
import { isObject } from "../../domain/json.ts"

export interface RequestCredentials {
  /** Options of TLS, with client certificate and authority. */
  readonly options: RequestOptions
  /** The header `Authorization`; `undefined` without one. */
  readonly authorization: string | undefined
}

/**
 * The file in which the kubelet keeps and renews a pod's token. Read here for each request, because client-node reads
 * it once a minute, and one file for all configurations.
 */
const tokenFileOf = (config: KubeConfig): string | undefined => {
  const provider: unknown = config.getCurrentUser()?.authProvider
  const settings = isObject(provider) && isObject(provider["config"]) ? provider["config"] : {}
  const file = settings["tokenFile"]
  return typeof file === "string" ? file : undefined
}

/** The header `Authorization` of a configuration's options. */
export const authorizationOf = ({ headers }: RequestOptions): string | undefined =>
  (headers as Record<string, string> | undefined)?.["Authorization"]

/** The current credentials of a configuration. */
export const readCredentials = async (config: KubeConfig): Promise<RequestCredentials> => {
  const options: RequestOptions = {}
  await config.applyToHTTPSOptions(options)
  const file = tokenFileOf(config)
  return {
    options,
    authorization: file === undefined ? authorizationOf(options) : `Bearer ${(await readFile(file, "utf8")).trim()}`
  }
}
