/**
 * Sends requests to one API server, with the current credentials of its configuration. Knows nothing of the API's
 * objects, and calls no answer a failure.
 */

import type { RequestOptions } from "node:https"
import type { KubeConfig } from "@kubernetes/client-node"
import { Effect, type Scope } from "effect"
import type { Dispatcher } from "undici"
import { shownProxy } from "../stream/proxy-agent.ts"
import { Connections, type ConnectionTimes, type OpenLane } from "./connections.ts"
import { LargeBodies } from "./large-bodies.ts"
import { proxyOf } from "./proxies.ts"
import { readCredentials } from "./request-credentials.ts"

/** How long a server may be silent. */
export interface KubeApiTimes extends ConnectionTimes {
  /** Time after which the server is asked to end a watch, in s: a watch is silent while nothing happens. */
  readonly watchSeconds: number
  /**
   * Longest silence of a watch, in ms; a watch that is silent for longer hangs on a connection whose other end is gone.
   * More than `watchSeconds`.
   */
  readonly watchTimeout: number
}

export const defaultTimes: KubeApiTimes = {
  connectTimeout: 10_000,
  headersTimeout: 30_000,
  bodyTimeout: 30_000,
  watchSeconds: 290,
  watchTimeout: 300_000
}

/** One API server, as one identity. */
export interface ApiServer {
  readonly config: KubeConfig
  readonly times: KubeApiTimes
  readonly userAgent: string
  readonly large: LargeBodies
  /** Opens connections to a server that cannot be dialled; `undefined` for one that can. */
  readonly openLane: OpenLane | undefined
  /** The connections of the current credentials; missing before the first request. */
  pool: { readonly credentials: string; readonly connections: Connections } | undefined
}

export interface ApiRequest {
  readonly method: Dispatcher.HttpMethod
  readonly path: string
  readonly body?: { readonly type: string; readonly value: object }
  /** How long the answer may be silent, in ms; `bodyTimeout` of {@link KubeApiTimes} unless given. */
  readonly silence?: number
}

/** An API server whose connections end with the scope. */
export const makeApiServer = (
  config: KubeConfig,
  times: KubeApiTimes,
  userAgent: string,
  openLane?: OpenLane
): Effect.Effect<ApiServer, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync((): ApiServer => ({ config, times, userAgent, large: new LargeBodies(), openLane, pool: undefined })),
    (server) => Effect.promise(async () => server.pool?.connections.destroy())
  )

/** The connections for these credentials; the last request's connections unless the credentials have changed. */
const connectionsFor = (server: ApiServer, options: RequestOptions): Connections => {
  const { config, openLane, pool, times } = server
  const { ca, cert, key, rejectUnauthorized, servername } = options
  const url = config.getCurrentCluster()?.server
  const proxy = proxyOf(config)
  const credentials = [url, proxy, ca, cert, key, rejectUnauthorized, servername].join("|")
  if (pool?.credentials === credentials) return pool.connections
  // Requests under way go on with the credentials that they began with.
  void pool?.connections.close().catch(() => {})
  const connections = new Connections(options, times, openLane ?? proxy)
  server.pool = { credentials, connections }
  return connections
}

const sendOnce = async (
  server: ApiServer,
  { body, method, path, silence = server.times.bodyTimeout }: ApiRequest,
  signal: AbortSignal
): Promise<Dispatcher.ResponseData> => {
  const { config, userAgent } = server
  const { authorization, options } = await readCredentials(config)
  const url = new URL(config.getCurrentCluster()?.server ?? "https://127.0.0.1:1")
  return connectionsFor(server, options).request({
    origin: url.origin,
    path: `${url.pathname.replace(/\/$/, "")}${path}`,
    method,
    signal,
    bodyTimeout: silence,
    headers: {
      ...(authorization === undefined ? {} : { authorization }),
      "user-agent": userAgent,
      accept: "application/json",
      ...(body === undefined ? {} : { "content-type": body.type })
    },
    body: body === undefined ? null : JSON.stringify(body.value)
  })
}

/** Sends one request; the answer may have any status. An error names the proxy, which may be its cause. */
export const send: typeof sendOnce = (server, request, signal) =>
  sendOnce(server, request, signal).catch((cause: unknown) => {
    const proxy = proxyOf(server.config)
    if (proxy === undefined) throw cause
    const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause
    const problem = inner instanceof Error ? inner.message : String(inner)
    throw new Error(`${problem} (through the proxy ${shownProxy(proxy)})`)
  })
