import { readFile } from "node:fs/promises"
import type { RequestOptions } from "node:https"
import type { KubeConfig } from "@kubernetes/client-node"
import { Effect, type Scope } from "effect"
import { Agent, type Dispatcher } from "undici"
import { isRecord } from "./kube-errors.ts"

/**
 * Requests to one API server, with the credentials that its configuration has at that moment. The file knows nothing of
 * the API's objects, and calls no answer a failure.
 */

/** How long a server may be silent. */
export interface KubeApiTimes {
  /** Until a connection stands, in ms. */
  readonly connectTimeout: number
  /** Until it begins an answer, in ms. */
  readonly headersTimeout: number
  /** Within an answer, in ms. */
  readonly bodyTimeout: number
  /** A watch is silent while nothing happens; so many seconds after its start the server is asked to end it. */
  readonly watchSeconds: number
  /**
   * A watch that is silent for longer than this, in ms, hangs on a connection whose other end is gone. More than
   * `watchSeconds`.
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
  /** The connections of the current credentials; missing before the first request. */
  pool: { readonly credentials: string; readonly agent: Agent } | undefined
}

export interface ApiRequest {
  readonly method: Dispatcher.HttpMethod
  readonly path: string
  readonly body?: { readonly type: string; readonly value: object }
  /** How long the answer may be silent, in ms; `bodyTimeout` of {@link KubeApiTimes} unless given. */
  readonly silence?: number
}

/** Ends its connections with the scope. */
export const makeApiServer = (
  config: KubeConfig,
  times: KubeApiTimes,
  userAgent: string
): Effect.Effect<ApiServer, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync((): ApiServer => ({ config, times, userAgent, pool: undefined })),
    (server) => Effect.promise(async () => server.pool?.agent.destroy())
  )

/**
 * Where the kubelet keeps a pod's token, which it renews. client-node would read it once a minute, and one file for all
 * configurations.
 */
const tokenFileOf = (config: KubeConfig): string | undefined => {
  const provider: unknown = config.getCurrentUser()?.authProvider
  const settings = isRecord(provider) && isRecord(provider["config"]) ? provider["config"] : {}
  const file = settings["tokenFile"]
  return typeof file === "string" ? file : undefined
}

/** Connections with a configuration's TLS options. */
export const makeAgent = (
  { ca, cert, key, rejectUnauthorized, servername }: RequestOptions,
  {
    bodyTimeout,
    connectTimeout,
    headersTimeout
  }: Pick<KubeApiTimes, "bodyTimeout" | "connectTimeout" | "headersTimeout">
): Agent =>
  new Agent({
    headersTimeout,
    bodyTimeout,
    connect: { ca, cert, key, rejectUnauthorized: rejectUnauthorized ?? true, servername, timeout: connectTimeout }
  })

type Pool = NonNullable<ApiServer["pool"]>

/** The connections for these credentials: those of the last request unless the credentials have changed. */
const poolFor = (server: ApiServer, options: RequestOptions): Pool => {
  const { ca, cert, key, rejectUnauthorized, servername } = options
  const url = server.config.getCurrentCluster()?.server
  const credentials = [url, ca, cert, key, rejectUnauthorized, servername].join("|")
  if (server.pool?.credentials === credentials) return server.pool
  // Requests under way go on with the credentials that they began with.
  void server.pool?.agent.close().catch(() => {})
  return { credentials, agent: makeAgent(options, server.times) }
}

/** The header `Authorization` of a configuration's options. */
export const authorizationOf = ({ headers }: RequestOptions): string | undefined =>
  (headers as Record<string, string> | undefined)?.["Authorization"]

const credentialsOf = async (
  server: ApiServer
): Promise<{ readonly agent: Agent; readonly authorization: string | undefined }> => {
  const { config } = server
  const options: RequestOptions = {}
  await config.applyToHTTPSOptions(options)
  const pool = poolFor(server, options)
  server.pool = pool
  const file = tokenFileOf(config)
  const authorization =
    file === undefined ? authorizationOf(options) : `Bearer ${(await readFile(file, "utf8")).trim()}`
  // Another request may have renewed the connections meanwhile, and closed these.
  return { agent: (server.pool ?? pool).agent, authorization }
}

/** Sends one request; the answer may have any status. */
export const send = async (
  server: ApiServer,
  { body, method, path, silence = server.times.bodyTimeout }: ApiRequest,
  signal: AbortSignal
): Promise<Dispatcher.ResponseData> => {
  const { config, userAgent } = server
  const { agent, authorization } = await credentialsOf(server)
  const url = new URL(config.getCurrentCluster()?.server ?? "https://127.0.0.1:1")
  return agent.request({
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
