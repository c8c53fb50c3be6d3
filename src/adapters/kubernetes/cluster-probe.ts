/**
 * Probes one API server for `braid doctor`: TLS, credentials, single requests. Returns failures as results and retries
 * nothing.
 */

import { readFileSync } from "node:fs"
import { request as requestOverTls, type RequestOptions } from "node:https"
import { isIP } from "node:net"
import { connect, type ConnectionOptions, createSecureContext, TLSSocket } from "node:tls"
import type { KubeConfig } from "@kubernetes/client-node"
import { Effect, type Scope } from "effect"
import type { Dispatcher } from "undici"
import type { ClusterProbe, Handshake, ProbeResult } from "../../ports/cluster-probe.ts"
import { proxyAgent } from "../stream/proxy-agent.ts"
import { maxPage, readBody } from "./bounded-body.ts"
import { Connections } from "./connections.ts"
import { proxyOf } from "./proxies.ts"
import { authorizationOf } from "./request-credentials.ts"

const codeOf = (cause: unknown): string => {
  const code: unknown = cause instanceof Error && "code" in cause ? cause.code : undefined
  return typeof code === "string" ? code : ""
}

/** The innermost error, which names the cause. */
const innermost = (cause: unknown): unknown => {
  if (cause instanceof AggregateError && cause.errors.length > 0) return innermost(cause.errors[0])
  return cause instanceof Error && cause.cause instanceof Error ? innermost(cause.cause) : cause
}

const sentence = (cause: unknown): string => {
  const error = innermost(cause)
  return error instanceof Error ? error.message || error.name : String(error)
}

const authority = (config: KubeConfig): string | undefined => {
  const { caData, caFile } = config.getCurrentCluster() ?? {}
  if (caData !== undefined && caData !== "") return Buffer.from(caData, "base64").toString("utf8")
  return caFile === undefined || caFile === "" ? undefined : readFileSync(caFile, "utf8")
}

/** The certificate that a server has shown, and why it is not trusted; `undefined` if it is. */
const shownCertificate = (socket: TLSSocket): { certificate: Uint8Array | undefined; distrust: string | undefined } => {
  const { authorizationError, authorized } = socket
  const certificate = socket.getPeerX509Certificate()?.raw
  if (authorized) return { certificate, distrust: undefined }
  const isError = typeof authorizationError === "object"
  const distrust = isError ? codeOf(authorizationError) || authorizationError.message : String(authorizationError)
  return { certificate, distrust }
}

/**
 * Begins a connection to a server, through its proxy if it has one. A proxy's agent makes connections for requests
 * alone, so there is one, which is given up before it is sent.
 */
const beginConnection = (
  proxy: string | undefined,
  options: ConnectionOptions,
  begun: (socket: TLSSocket) => void,
  failed: (cause: unknown) => void
): { readonly destroy: () => void } => {
  const agent = proxyAgent(proxy)
  if (agent === undefined) {
    const socket = connect(options)
    begun(socket)
    return socket
  }
  const { host, port, servername, ca, rejectUnauthorized, timeout } = options
  const request = requestOverTls({ agent, host, port, servername, ca, rejectUnauthorized, timeout, method: "HEAD" })
  request.once("error", failed)
  request.once("socket", (socket) => {
    if (socket instanceof TLSSocket) begun(socket)
    else failed(new Error("the proxy gave no connection"))
  })
  return request
}

const shakeHands = (config: KubeConfig, url: URL, patience: number): Effect.Effect<Handshake> =>
  Effect.callback<Handshake>((resume) => {
    const host = url.hostname.replace(/^\[|\]$/gu, "")
    let ca: string | undefined
    try {
      ca = authority(config)
    } catch (cause) {
      resume(Effect.succeed({ _tag: "NoAuthority", detail: sentence(cause) }))
      return
    }
    const failed = (cause: unknown): void =>
      resume(Effect.succeed({ _tag: "Failed", code: codeOf(innermost(cause)), detail: sentence(cause) }))
    const silent = (): Error =>
      Object.assign(new Error(`there was no answer within ${patience / 1000} s`), { code: "ETIMEDOUT" })
    const begun = (socket: TLSSocket): void => {
      socket.once("timeout", () => {
        failed(silent())
        socket.destroy()
      })
      socket.once("error", failed)
      socket.once("secureConnect", () => {
        resume(Effect.succeed({ _tag: "Connected", ...shownCertificate(socket) }))
        socket.destroy()
      })
    }
    try {
      const options: ConnectionOptions = {
        host,
        port: Number(url.port || 443),
        servername: config.getCurrentCluster()?.tlsServerName ?? (isIP(host) === 0 ? host : ""),
        ca,
        // Flaws of the certificate are a result here; nothing secret is sent over this connection.
        rejectUnauthorized: false,
        timeout: patience
      }
      const connection = beginConnection(proxyOf(config), options, begun, failed)
      return Effect.sync(() => void connection.destroy())
    } catch (cause) {
      failed(cause)
      return Effect.void
    }
  })

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const messageOf = (body: unknown, text: string): string => {
  const message: unknown = typeof body === "object" && body !== null && "message" in body ? body.message : undefined
  return typeof message === "string" && message !== "" ? message : text.trim().slice(0, 200) || "no explanation"
}

interface ProbeState {
  readonly config: KubeConfig
  readonly url: URL
  /** How long connecting, and how long an answer, may take, ms. */
  readonly patience: number
  /** The connections; made for the first request. */
  connections: Connections | undefined
}

interface ProbeRequest {
  readonly method: "GET" | "POST"
  readonly path: string
  readonly body: object | undefined
}

const optionsOf = async (config: KubeConfig): Promise<RequestOptions> => {
  const options: RequestOptions = {}
  await config.applyToHTTPSOptions(options)
  return options
}

const resultOf = async ({ body, headers, statusCode: code }: Dispatcher.ResponseData): Promise<ProbeResult> => {
  const text = (await readBody(body, maxPage)).toString("utf8")
  const value = parsed(text)
  const date = Date.parse(String(headers["date"]))
  return {
    date: Number.isNaN(date) ? undefined : date,
    answer:
      code < 300
        ? { _tag: "Answered", value: { body: value } }
        : { _tag: "Refused", code, detail: messageOf(value, text) }
  }
}

const sendProbe = async (
  probe: ProbeState,
  { body, method, path }: ProbeRequest,
  signal: AbortSignal
): Promise<ProbeResult> => {
  const { config, patience, url } = probe
  const options = await optionsOf(config)
  const times = { headersTimeout: patience, bodyTimeout: patience, connectTimeout: patience }
  probe.connections ??= new Connections(options, times, proxyOf(config))
  const authorization = authorizationOf(options)
  const response = await probe.connections.request({
    origin: url.origin,
    path: `${url.pathname.replace(/\/$/u, "")}${path}`,
    method,
    signal,
    headers: {
      accept: "application/json",
      ...(authorization === undefined ? {} : { authorization }),
      ...(body === undefined ? {} : { "content-type": "application/json" })
    },
    body: body === undefined ? null : JSON.stringify(body)
  })
  return resultOf(response)
}

/** Why the credentials cannot be used, a sentence; `undefined` if they can. */
const credentialsProblem = ({ config, url }: ProbeState): Effect.Effect<string | undefined> =>
  Effect.tryPromise(async () => {
    // Over plain HTTP client-node refuses to send any credentials.
    if (url.protocol === "http:" && config.getCurrentCluster()?.skipTLSVerify !== true) return undefined
    const { cert, key } = await optionsOf(config)
    createSecureContext({ cert, key })
    return undefined
  }).pipe(Effect.catch((error) => Effect.succeed(sentence(error))))

const request = (probe: ProbeState, asked: ProbeRequest): Effect.Effect<ProbeResult> =>
  Effect.tryPromise((signal) => sendProbe(probe, asked, signal)).pipe(
    Effect.catch((error) =>
      Effect.succeed<ProbeResult>({ date: undefined, answer: { _tag: "NoAnswer", detail: sentence(error) } })
    )
  )

/**
 * {@link ClusterProbe} with the credentials of a configuration. Requests are made as `makeKubeApi` makes them, so they
 * fail where an operator's would. `patience`: how long connecting, and how long an answer, may take, in ms.
 */
export const makeClusterProbe = Effect.fnUntraced(function* (
  config: KubeConfig,
  patience: number
): Effect.fn.Return<ClusterProbe, never, Scope.Scope> {
  const cluster = config.getCurrentCluster()
  const server = cluster?.server ?? ""
  const url = URL.canParse(server) ? new URL(server) : new URL("https://127.0.0.1:1")
  const probe: ProbeState = { config, url, patience, connections: undefined }
  yield* Effect.addFinalizer(() => Effect.promise(async () => probe.connections?.destroy()))
  return {
    server,
    unchecked: cluster?.skipTLSVerify === true,
    hasOwnAuthority: Boolean(cluster?.caData) || Boolean(cluster?.caFile),
    handshake: url.protocol === "https:" ? shakeHands(config, url, patience) : undefined,
    credentialsProblem: credentialsProblem(probe),
    request: (method, path, body) => request(probe, { method, path, body })
  }
})
