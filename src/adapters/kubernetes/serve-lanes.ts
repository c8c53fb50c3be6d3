/**
 * The outpost's end of lanes: takes the primary's requests and sends each as its own to this cluster's API server, with
 * the operator's own credentials and as the envoy, so that no credential of the cluster leaves it and the API server
 * decides each request for the envoy. Bytes pass unread, those of upgrades too.
 *
 * Not here: where lanes come from (adapters/tunnel).
 */

import {
  type Agent as HttpAgent,
  type ClientRequest,
  createServer,
  type IncomingMessage,
  type ServerResponse
} from "node:http"
import { Agent, request as sendRequest } from "node:https"
import { type Duplex, pipeline } from "node:stream"
import type { KubeConfig } from "@kubernetes/client-node"
import { cleanText, quoted, textLimits } from "../../domain/clean-text.ts"
import { proxyAgent } from "../stream/proxy-agent.ts"
import { pairsOf, passedBack, passedOn, type RawHeaders } from "./lane-headers.ts"
import { proxyOf } from "./proxies.ts"
import { readCredentials } from "./request-credentials.ts"

/** Longest head of a request, in bytes: parameters of a session may stand in a header. */
const maxHead = 1024 * 1024
/** Longest time until a connection to the API server stands, ms. */
const connectTimeout = 10_000
/** How long a connection waits for another request, in ms; shorter than API servers wait. */
const idleTime = 30_000

export interface LaneServer {
  /** Serves a lane until it ends. */
  readonly serve: (lane: Duplex) => void
  /** Ends all lanes, and the connections to the API server. */
  readonly close: () => void
}

const ignored = (): void => undefined

/** The answer of this operator, where the API server has none. */
interface OwnAnswer {
  readonly code: number
  readonly reason: string
  readonly message: string
}

const bodyOf = ({ message, ...answer }: OwnAnswer): string =>
  JSON.stringify({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    ...answer,
    message: cleanText(message, textLimits.message)
  })

const answerItself = (response: ServerResponse, answer: OwnAnswer): void => {
  if (response.headersSent || response.destroyed) return void response.destroy()
  const body = bodyOf(answer)
  response.writeHead(answer.code, { "content-type": "application/json", "content-length": Buffer.byteLength(body) })
  response.end(body)
}

/** The same where the server of HTTP has handed the lane over. */
const answerOnLane = (lane: Duplex, answer: OwnAnswer): void => {
  if (lane.destroyed) return
  const body = bodyOf(answer)
  const head = `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close`
  lane.end(`HTTP/1.1 ${answer.code} ${answer.reason}\r\n${head}\r\n\r\n${body}`)
}

/** The head of an answer, on a lane that the server of HTTP has handed over. */
const writeHead = (lane: Duplex, { statusCode, statusMessage }: IncomingMessage, headers: RawHeaders): void => {
  const lines = pairsOf(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  lane.write(`HTTP/1.1 ${statusCode} ${statusMessage ?? ""}\r\n${lines.join("")}\r\n`, "latin1")
}

/** Why a request has no answer of the API server; `undefined` if it is one that can pass. */
const refusalOf = ({ method, url = "" }: IncomingMessage): OwnAnswer | undefined =>
  url.startsWith("/") && method !== "CONNECT"
    ? undefined
    : {
        code: 400,
        reason: "BadRequest",
        message: `${method} ${quoted(url)} is no path of this cluster's API server, which alone is served`
      }

/** The API server of a configuration, to which requests go as another user. */
class Upstream {
  readonly #config: KubeConfig
  readonly #envoy: string
  readonly #userAgent: string
  /** Keeps connections with other credentials apart. */
  readonly #agent: HttpAgent

  constructor(config: KubeConfig, envoy: string, userAgent: string) {
    this.#config = config
    this.#envoy = envoy
    this.#userAgent = userAgent
    const options = { keepAlive: true, timeout: idleTime }
    this.#agent = proxyAgent(proxyOf(config), options) ?? new Agent(options)
  }

  get server(): string {
    return this.#config.getCurrentCluster()?.server ?? ""
  }

  /** Begins a request in place of another one, whose body is still to be sent. */
  async begin(from: IncomingMessage): Promise<ClientRequest> {
    const { authorization, options } = await readCredentials(this.#config)
    const { agent: _agent, headers: _headers, ...tls } = options
    const url = new URL(this.server)
    const { "transfer-encoding": transfer, upgrade, "user-agent": userAgent } = from.headers
    const request = sendRequest({
      ...tls,
      ...(upgrade === undefined ? { agent: this.#agent } : this.#alone()),
      host: url.hostname.replace(/^\[|\]$/gu, ""),
      port: url.port || 443,
      method: from.method,
      path: `${url.pathname.replace(/\/$/u, "")}${from.url}`,
      headers: [
        ...["host", url.host],
        ...passedOn(from.rawHeaders),
        ...(transfer === undefined ? [] : ["transfer-encoding", "chunked"]),
        ...(upgrade === undefined ? [] : ["connection", "Upgrade", "upgrade", upgrade]),
        ...(userAgent === undefined ? ["user-agent", this.#userAgent] : []),
        ...(authorization === undefined ? [] : ["authorization", authorization]),
        ...["impersonate-user", this.#envoy]
      ]
    })
    const timer = setTimeout(
      () => request.destroy(new Error(`no connection within ${connectTimeout / 1_000} s`)),
      connectTimeout
    )
    const stop = (): void => clearTimeout(timer)
    request.once("close", stop)
    request.once("socket", (socket) => (request.reusedSocket ? stop() : socket.once("secureConnect", stop)))
    return request
  }

  /** The answer for a request that the API server did not answer. */
  unreached(cause: unknown): OwnAnswer {
    const problem = cause instanceof Error ? cause.message : String(cause)
    const message = `the API server ${this.server} cannot be reached by the operator of its cluster: ${problem}`
    return { code: 502, reason: "BadGateway", message }
  }

  close(): void {
    this.#agent.destroy()
  }

  /** A connection for one request, each half of which may end first. */
  #alone(): { readonly agent: HttpAgent | false; readonly allowHalfOpen: boolean } {
    return { agent: proxyAgent(proxyOf(this.#config)) ?? false, allowHalfOpen: true }
  }
}

const forward = async (upstream: Upstream, request: IncomingMessage, response: ServerResponse): Promise<void> => {
  const refusal = refusalOf(request)
  if (refusal !== undefined) return answerItself(response, refusal)
  request.on("error", ignored)
  response.on("error", ignored)
  try {
    const sent = await upstream.begin(request)
    sent.on("error", (cause) => answerItself(response, upstream.unreached(cause)))
    sent.once("response", (answer) => {
      response.sendDate = false
      response.writeHead(answer.statusCode ?? 502, answer.statusMessage, passedBack(answer.rawHeaders))
      // A watch may begin long before its first event.
      response.flushHeaders()
      answer.once("end", () => response.addTrailers(pairsOf(answer.rawTrailers)))
      pipeline(answer, response, ignored)
    })
    response.once("close", () => sent.destroy())
    request.once("end", () => sent.addTrailers(pairsOf(request.rawTrailers)))
    request.pipe(sent)
    if (response.destroyed) sent.destroy()
  } catch (cause) {
    answerItself(response, upstream.unreached(cause))
  }
  return undefined
}

/** `head`: the first bytes behind the request. */
const upgrade = async (upstream: Upstream, request: IncomingMessage, lane: Duplex, head: Buffer): Promise<void> => {
  lane.on("error", ignored)
  const refusal = refusalOf(request)
  if (refusal !== undefined) return answerOnLane(lane, refusal)
  try {
    const sent = await upstream.begin(request)
    const giveUp = (): void => void sent.destroy()
    const fail = (cause: unknown): void => answerOnLane(lane, upstream.unreached(cause))
    lane.once("close", giveUp)
    sent.on("error", ignored).once("error", fail)
    sent.once("upgrade", (answer, socket, first) => {
      lane.off("close", giveUp)
      socket.on("error", ignored)
      writeHead(lane, answer, answer.rawHeaders)
      if (first.length > 0) lane.write(first)
      if (head.length > 0) socket.write(head)
      pipeline(lane, socket, ignored)
      pipeline(socket, lane, ignored)
    })
    sent.once("response", (answer) => {
      sent.off("error", fail)
      writeHead(lane, answer, [...passedBack(answer.rawHeaders), "connection", "close"])
      pipeline(answer, lane, ignored)
    })
    sent.end()
    if (lane.destroyed) giveUp()
  } catch (cause) {
    answerOnLane(lane, upstream.unreached(cause))
  }
  return undefined
}

/**
 * Serves lanes from one API server. `config`: the operator's own configuration. `envoy`: the user as whom the primary's
 * requests are made. `userAgent`: for requests that name none.
 */
export const makeLaneServer = (config: KubeConfig, envoy: string, userAgent: string): LaneServer => {
  const upstream = new Upstream(config, envoy, userAgent)
  const lanes = new Set<Duplex>()
  // It never listens, so that it has none of Node's bounds of time: the primary is no stranger.
  const server = createServer({ maxHeaderSize: maxHead, keepAliveTimeout: 0 })
  server.on("request", (request, response) => void forward(upstream, request, response))
  server.on("upgrade", (request, lane, head) => void upgrade(upstream, request, lane, head))
  server.on("connect", (request, lane) => void upgrade(upstream, request, lane, Buffer.alloc(0)))
  return {
    serve: (lane) => {
      lanes.add(lane)
      lane.once("close", () => lanes.delete(lane))
      server.emit("connection", lane)
    },
    close: () => {
      for (const lane of lanes) lane.destroy(new Error("the operator serves no more lanes"))
      upstream.close()
    }
  }
}
