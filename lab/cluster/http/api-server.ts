/**
 * The HTTPS server of a cluster: authentication, authorization and audit, then the aggregation layer, a document, or a
 * resource of the store. Requests to resources continue in `resource-requests.ts`.
 */

import type { IncomingMessage, ServerResponse } from "node:http"
import { type Server, createServer } from "node:https"
import { Socket } from "node:net"
import { refuseUpgrade, sendError, sendJson, sendText } from "../wire/http-io.ts"
import { kubernetesVersion } from "../wire/kubernetes-version.ts"
import { ApiError, badRequest, internalError, notAcceptable } from "../wire/status-error.ts"
import { type AggregationProxy, maxHeaderSize, type Upgrade } from "./aggregation-proxy.ts"
import { aggregatedServiceFor, type AggregatedService } from "./aggregation.ts"
import { authenticate } from "./authentication.ts"
import type { Connections } from "./connections.ts"
import { discover } from "./discovery.ts"
import type { Identity } from "./identity.ts"
import { impersonate } from "./impersonation.ts"
import { openApiDocument, openApiIndex, openApiV2 } from "./openapi.ts"
import type { KeyPair } from "./pki.ts"
import { accessDenied, isAllowed } from "./rbac.ts"
import { type RequestInfo, parseRequest } from "./request-info.ts"
import { serveResource } from "./resource-requests.ts"
import type { ServerContext } from "./server-context.ts"

/** A line of the server's audit log. */
export interface Caller {
  /** Epoch ms. */
  readonly at: number
  /** "" if authentication failed. */
  readonly user: string
  readonly groups: ReadonlyArray<string>
  readonly method: string
  /** Including the query. */
  readonly path: string
  readonly status: number
  /** The `User-Agent` header; "" without one. */
  readonly userAgent: string
}

export interface ApiServerOptions {
  readonly context: ServerContext
  readonly proxy: AggregationProxy
  readonly connections: Connections
  readonly certificate: KeyPair
  readonly clientCaPem: string
  readonly publicJwk: Record<string, unknown>
  readonly record: (caller: Caller) => void
}

const [major, minor] = kubernetesVersion.split(".")
const version = {
  major,
  minor,
  gitVersion: `v${kubernetesVersion}+embedded`,
  gitCommit: "",
  gitTreeState: "clean",
  buildDate: "1970-01-01T00:00:00Z",
  goVersion: "",
  compiler: "",
  platform: "linux/amd64"
}

const asApiError = (cause: unknown): ApiError =>
  cause instanceof ApiError ? cause : internalError(cause instanceof Error ? cause.message : String(cause))

interface Admitted {
  readonly info: RequestInfo
  readonly identity: Identity
  /** The service that gets the request; `undefined` if this server answers from its own store. */
  readonly aggregated: AggregatedService | undefined
}

const groupVersionOf = ({
  access,
  path
}: RequestInfo): { readonly group: string; readonly version: string } | undefined => {
  if (access._tag === "Resource") return access
  const match = /^(?:\/openapi\/v3)?\/apis\/([^/]+)\/([^/]+)\/?$/.exec(path)
  return match === null ? undefined : { group: match[1] ?? "", version: match[2] ?? "" }
}

const serveNonResource = (
  { context, publicJwk }: ApiServerOptions,
  { path }: RequestInfo,
  req: IncomingMessage,
  res: ServerResponse
): void => {
  const { store } = context
  switch (path) {
    case "/healthz":
    case "/livez":
    case "/readyz":
      return sendText(res, 200, "ok")
    case "/version":
    case "/version/":
      return sendJson(res, 200, version)
    case "/openapi/v2":
      // kubectl accepts only protobuf here, and goes on without a document after a 406.
      if (req.headers.accept !== undefined && !/\*\/\*|application\/json/.test(req.headers.accept))
        throw notAcceptable(["application/json"])
      return sendJson(res, 200, openApiV2(store))
    case "/openapi/v3":
      return sendJson(res, 200, openApiIndex(store))
    case "/openid/v1/jwks":
      return sendJson(res, 200, { keys: [publicJwk] })
  }
  const document = path.startsWith("/openapi/v3/")
    ? openApiDocument(store, path.slice("/openapi/v3/".length))
    : discover(store, path, req.headers.host ?? "")
  if (document === undefined) sendText(res, 404, "404 page not found\n")
  else sendJson(res, 200, document)
}

const admit = (
  { store, tokens }: ServerContext,
  req: IncomingMessage,
  learned: (identity: Identity) => void
): Admitted => {
  const info = parseRequest(req.method ?? "GET", req.url ?? "/")
  const caller = authenticate(req, tokens)
  learned(caller)
  const identity = impersonate(store, req, caller)
  if (!isAllowed(store, identity, info.access)) throw accessDenied(identity, info.access)
  const groupVersion = groupVersionOf(info)
  return {
    info,
    identity,
    aggregated:
      groupVersion === undefined ? undefined : aggregatedServiceFor(store, groupVersion.group, groupVersion.version)
  }
}

/** The entry of a request in the audit log. */
const audit = ({ context, record }: ApiServerOptions, req: IncomingMessage) => {
  let user: Identity | undefined
  return {
    learned: (identity: Identity) => {
      user = identity
    },
    done: (status: number) =>
      record({
        at: context.now(),
        user: user?.user ?? "",
        groups: user?.groups ?? [],
        method: req.method ?? "",
        path: req.url ?? "",
        status,
        userAgent: req.headers["user-agent"] ?? ""
      })
  }
}

const onRequest = async (options: ApiServerOptions, req: IncomingMessage, res: ServerResponse): Promise<void> => {
  const { connections, context, proxy } = options
  const { learned, done } = audit(options, req)
  res.on("close", () => done(res.statusCode))
  try {
    const { info, identity, aggregated } = admit(context, req, learned)
    if (aggregated !== undefined) proxy.serve(req, res, aggregated, identity)
    else if (info.access._tag === "NonResource") serveNonResource(options, info, req, res)
    else if (!context.store.catalog.hasGroupVersion(info.access.group, info.access.version))
      sendText(res, 404, "404 page not found\n")
    else await serveResource(context, { req, res, query: info.query, access: info.access, identity })
  } catch (cause) {
    if (res.headersSent) connections.reset(req.socket)
    else sendError(res, asApiError(cause))
  }
}

const onUpgrade = (options: ApiServerOptions, upgrade: Upgrade): void => {
  const { req, socket } = upgrade
  socket.on("error", () => options.connections.reset(socket))
  const { learned, done } = audit(options, req)
  try {
    const { identity, aggregated } = admit(options.context, req, learned)
    if (aggregated === undefined) throw badRequest("upgrade requests are served for aggregated APIs only")
    options.proxy.serveUpgrade(upgrade, aggregated, identity, done)
  } catch (cause) {
    const error = asApiError(cause)
    done(error.code)
    refuseUpgrade(socket, error)
  }
}

/** The caller makes it listen. */
export const createApiServer = (options: ApiServerOptions): Server => {
  const { connections } = options
  const server = createServer({
    cert: options.certificate.certPem,
    key: options.certificate.keyPem,
    ca: options.clientCaPem,
    requestCert: true,
    // TLS accepts certificates of unknown authorities: such a request is judged by its token, or refused with 401.
    rejectUnauthorized: false,
    ALPNProtocols: ["http/1.1"],
    maxHeaderSize,
    keepAliveTimeout: 90_000,
    requestTimeout: 0
  })
  // As a real server, which bounds headers by their bytes alone.
  server.maxHeadersCount = 0
  server.on("connection", (transport) => {
    if (transport instanceof Socket) connections.add(transport)
  })
  server.on("secureConnection", (socket) => connections.secured(socket))
  server.on("tlsClientError", (_error, socket) => socket.destroy())
  server.on("request", (req, res) => void onRequest(options, req, res))
  server.on("upgrade", (req, socket, head) => onUpgrade(options, { req, socket, head }))
  return server
}
