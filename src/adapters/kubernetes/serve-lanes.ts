/**
 * The outpost's end of lanes: takes the requests of the primary and of people, and sends each as its own to this
 * cluster's API server, with the operator's own credentials and as the envoy or as the person, so that no credential of
 * the cluster leaves it and the API server decides each request for them. Bytes pass unread, those of upgrades too.
 *
 * Not here: where lanes come from (adapters/tunnel), and as whom people are let in (people-lanes.ts).
 */

import {
  type Agent as HttpAgent,
  type ClientRequest,
  createServer,
  type IncomingMessage,
  type ServerResponse
} from "node:http"
import { Agent, request as sendRequest } from "node:https"
import type { Duplex } from "node:stream"
import type { KubeConfig } from "@kubernetes/client-node"
import { Result } from "effect"
import { cleanText, quoted, textLimits } from "../../domain/clean-text.ts"
import type { PeopleRules } from "../../domain/outbound/impersonation.ts"
import { pairsOf, passedOn, type RawHeaders } from "../../domain/outbound/passed-headers.ts"
import type { LaneKind } from "../../ports/tunnel.ts"
import { proxyAgent } from "../stream/proxy-agent.ts"
import { answerProblem, passAnswer, passRefusal, passUpgrade } from "./pass-answer.ts"
import { type NotePeople, type OutgoingRequest, outgoingOf } from "./people-lanes.ts"
import { proxyOf } from "./proxies.ts"
import { readCredentials } from "./request-credentials.ts"

/** Longest head of a request, in bytes: parameters of a session may stand in a header. */
const maxHead = 1024 * 1024
/** Longest time until a connection to the API server stands, ms. */
const connectTimeout = 10_000
/** How long a connection waits for another request, in ms; shorter than API servers wait. */
const idleTime = 30_000

export interface LaneServerOptions {
  /** The user as whom the primary's own requests are made. */
  readonly envoy: string
  /** For requests that name none. */
  readonly userAgent: string
  /** The rules for people. */
  readonly people: PeopleRules
  readonly note: NotePeople
}

export interface LaneServer {
  /** Serves a lane until it ends. */
  readonly serve: (lane: Duplex, kind?: LaneKind) => void
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

const refused = (code: number, reason: string, message: string): OwnAnswer => ({ code, reason, message })

/** The headers of the user as whom a request is made, or the answer to one that is not passed on. */
const admitted = (
  { method, url = "" }: IncomingMessage,
  { as }: OutgoingRequest
): Result.Result<RawHeaders, OwnAnswer> => {
  if (!url.startsWith("/") || method === "CONNECT") {
    const message = `${method} ${quoted(url)} is no path of this cluster's API server, which alone is served`
    return Result.fail(refused(400, "BadRequest", message))
  }
  return Result.mapError(as, (why) =>
    refused(403, "Forbidden", `the operator of this cluster does not pass the request on: ${why}`)
  )
}

/** Counts the bytes of a request, and says once how it has ended. */
class Ending {
  #bytes = 0
  #code: number | undefined
  #why: string | undefined
  #isRefused = false
  readonly #over: OutgoingRequest["over"]

  constructor(over: OutgoingRequest["over"]) {
    this.#over = over
  }

  readonly count = (chunk: Buffer): void => {
    this.#bytes += chunk.length
  }

  answered({ statusCode }: IncomingMessage): void {
    this.#code = statusCode
  }

  answeredHere({ code, message }: OwnAnswer, isRefused: boolean): void {
    // An answer that has begun is not replaced by another.
    this.#code ??= code
    this.#why = message
    this.#isRefused = isRefused
  }

  readonly tell = (): void =>
    this.#over({ code: this.#code, bytes: this.#bytes, why: this.#why, isRefused: this.#isRefused })
}

/** The API server of a configuration, to which requests go as other users. */
class Upstream {
  readonly #config: KubeConfig
  readonly #userAgent: string
  /** Keeps connections with other credentials apart. */
  readonly #agent: HttpAgent

  constructor(config: KubeConfig, userAgent: string) {
    this.#config = config
    this.#userAgent = userAgent
    const options = { keepAlive: true, timeout: idleTime }
    this.#agent = proxyAgent(proxyOf(config), options) ?? new Agent(options)
  }

  get server(): string {
    return this.#config.getCurrentCluster()?.server ?? ""
  }

  /** Begins a request in place of another one, whose body is still to be sent. `as`: the headers of a user. */
  async begin(from: IncomingMessage, as: RawHeaders): Promise<ClientRequest> {
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
        ...as
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

/** A request that is passed on. */
interface Passing {
  readonly upstream: Upstream
  readonly request: IncomingMessage
  readonly outgoing: OutgoingRequest
}

const forward = async ({ outgoing, request, upstream }: Passing, response: ServerResponse): Promise<void> => {
  const ending = new Ending(outgoing.over)
  response.once("close", ending.tell)
  const as = admitted(request, outgoing)
  const fail = (answer: OwnAnswer, isRefused = false): void => {
    ending.answeredHere(answer, isRefused)
    answerItself(response, answer)
  }
  if (Result.isFailure(as)) return fail(as.failure, true)
  request.on("error", ignored)
  response.on("error", ignored)
  try {
    const sent = await upstream.begin(request, as.success)
    sent.on("error", (cause) => fail(upstream.unreached(cause)))
    sent.once("response", (answer) => {
      const problem = answerProblem(answer)
      if (problem !== undefined) {
        fail(upstream.unreached(problem))
        return void sent.destroy()
      }
      ending.answered(answer)
      passAnswer(answer, response, ending.count)
    })
    response.once("close", () => sent.destroy())
    request.on("data", ending.count).once("end", () => sent.addTrailers(pairsOf(request.rawTrailers)))
    request.pipe(sent)
    if (response.destroyed) sent.destroy()
  } catch (cause) {
    fail(upstream.unreached(cause))
  }
  return undefined
}

/** `head`: the first bytes behind the request. */
const upgrade = async ({ outgoing, request, upstream }: Passing, lane: Duplex, head: Buffer): Promise<void> => {
  const ending = new Ending(outgoing.over)
  lane.on("error", ignored).once("close", ending.tell)
  const as = admitted(request, outgoing)
  const end = (answer: OwnAnswer, isRefused = false): void => {
    ending.answeredHere(answer, isRefused)
    answerOnLane(lane, answer)
  }
  if (Result.isFailure(as)) return end(as.failure, true)
  try {
    const sent = await upstream.begin(request, as.success)
    const giveUp = (): void => void sent.destroy()
    const fail = (cause: unknown): void => end(upstream.unreached(cause))
    lane.once("close", giveUp)
    sent.on("error", ignored).once("error", fail)
    sent.once("upgrade", (answer, socket, first) => {
      ending.answered(answer)
      lane.off("close", giveUp)
      passUpgrade({ answer, socket, first }, lane, head, ending.count)
    })
    sent.once("response", (answer) => {
      sent.off("error", fail)
      const problem = answerProblem(answer)
      if (problem !== undefined) {
        fail(problem)
        return giveUp()
      }
      ending.answered(answer)
      passRefusal(answer, lane, ending.count)
    })
    sent.end()
    if (lane.destroyed) giveUp()
  } catch (cause) {
    end(upstream.unreached(cause))
  }
  return undefined
}

/** A server of HTTP for lanes of one kind. `outgoing`: says as whom a request is made. */
const laneServer = (upstream: Upstream, outgoing: (request: IncomingMessage) => OutgoingRequest) => {
  // It never listens, so that it has none of Node's bounds of time: the primary is no stranger.
  const server = createServer({ maxHeaderSize: maxHead, keepAliveTimeout: 0 })
  const passing = (request: IncomingMessage): Passing => ({ upstream, request, outgoing: outgoing(request) })
  server.on("request", (request, response) => void forward(passing(request), response))
  server.on("upgrade", (request, lane, head) => void upgrade(passing(request), lane, head))
  server.on("connect", (request, lane) => void upgrade(passing(request), lane, Buffer.alloc(0)))
  return server
}

/** Serves lanes from one API server. `config`: the operator's own configuration. */
export const makeLaneServer = (
  config: KubeConfig,
  { envoy, note, people, userAgent }: LaneServerOptions
): LaneServer => {
  const upstream = new Upstream(config, userAgent)
  const ours: OutgoingRequest = { as: Result.succeed(["impersonate-user", envoy]), over: ignored }
  const servers = {
    api: laneServer(upstream, () => ours),
    people: laneServer(upstream, outgoingOf(people, note))
  }
  const lanes = new Set<Duplex>()
  return {
    serve: (lane, kind = "api") => {
      lanes.add(lane)
      lane.once("close", () => lanes.delete(lane))
      servers[kind].emit("connection", lane)
    },
    close: () => {
      for (const lane of lanes) lane.destroy(new Error("the operator serves no more lanes"))
      upstream.close()
    }
  }
}
