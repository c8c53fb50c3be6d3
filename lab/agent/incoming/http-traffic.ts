/**
 * HTTP on redirected ports of the reference agent. Other traffic is in `raw-traffic.ts`, the choice between both in
 * `agent-incoming.ts`.
 */

import * as http from "node:http"
import type { Duplex } from "node:stream"
import * as Result from "effect/Result"
import { checkText } from "../../../src/domain/protocol/text-rules.ts"
import type { After } from "../agent-output.ts"
import { describeError } from "../node-errors.ts"
import { headerList, type HttpAnswer, type Upgradable } from "./http-answer.ts"
import { hasBody, http1Message, type HttpMessage } from "./http-message.ts"
import { Http1Answer } from "./http1-answer.ts"
import { applicationConnections, passThrough } from "./http1-passthrough.ts"
import { serveHttp2 } from "./http2-connection.ts"
import { Http2Application } from "./http2-passthrough.ts"
import type { IncomingClient } from "./incoming-client.ts"
import {
  canMirrorRequests,
  type IncomingRequest,
  requestBody,
  requestStart,
  stolenRequestForm
} from "./incoming-messages.ts"
import { MirrorCopy } from "./mirror-copy.ts"
import { type BodyLimits, collectBody, keptBody } from "./request-body.ts"
import type { ServedRequest } from "./served-request.ts"
import type { IncomingConnection } from "./steal-tls.ts"
import { stealRequest, trailerFrames } from "./stolen-request.ts"
import { mirrorsByBody, mirrorsOfRequest, ownerOfRequest, stealsByBody, type Subscriptions } from "./subscriptions.ts"

interface Connection {
  readonly redirected: IncomingConnection
  /** Passes a request on to the application. */
  readonly pass: (served: ServedRequest) => void
}

/** Looked up for every request anew, because subscriptions change while a connection lives. */
export interface TrafficView {
  readonly subscriptions: () => Subscriptions
  readonly client: (id: number) => IncomingClient | undefined
}

export interface HttpOptions {
  readonly agentVersion: string
  readonly after: After
  readonly bodyLimits: BodyLimits
}

const tooOld = (version: string): string => `the client's protocol version ${version} is too old for it`

/**
 * The request as messages carry it; undefined for a request that the wire cannot carry (an illegal target), which only
 * the application sees.
 */
const incomingRequest = (message: HttpMessage, redirected: IncomingConnection): IncomingRequest | undefined => {
  const method = checkText("method", message.method)
  const uri = checkText("uri", message.uri)
  if (Result.isFailure(method) || Result.isFailure(uri)) return undefined
  return {
    method: method.success,
    uri: uri.success,
    headers: headerList(message.rawHeaders),
    version: message.version,
    source: redirected.source,
    destination: redirected.destination,
    transport: redirected.transport
  }
}

/**
 * Copies a request for one client; `body` is given if it is known already. `Close` follows when the peer has its
 * answer; an earlier `Close` would abort the client's own request.
 */
const mirrorRequest = (
  client: IncomingClient,
  request: IncomingRequest,
  { message, answer }: ServedRequest,
  body?: Uint8Array
): void => {
  const copy = new MirrorCopy(client)
  const complete = body !== undefined || !message.hasBody
  const frames = body === undefined ? [] : [{ _tag: "Data", value: body } as const, ...trailerFrames(message)]
  for (const start of requestStart("ChunkedV2", copy.id, request, frames, complete)) copy.send(start)
  answer.onClose(() => copy.close())
  if (complete) return
  message.body.on("data", (value: Uint8Array) => copy.send(requestBody(copy.id, [{ _tag: "Data", value }], false)))
  message.body.once("end", () => {
    if (message.complete()) copy.send(requestBody(copy.id, trailerFrames(message), true))
  })
}

/**
 * Decides each request of a connection on its own (agent.md §6.5): copies for clients that mirror, then to the client
 * that steals it, else to the application. Parsing and framing are Node's.
 *
 * A request of HTTP/1.x counts as an upgrade if it asks for one and has no body; with a body it is served like any
 * other.
 */
export class HttpTraffic {
  readonly #server: http.Server
  readonly #connections = new WeakMap<object, Connection>()
  readonly #view: TrafficView
  readonly #options: HttpOptions

  constructor(view: TrafficView, options: HttpOptions) {
    this.#view = view
    this.#options = options
    this.#server = http.createServer({
      keepAliveTimeout: 0,
      requestTimeout: 0,
      headersTimeout: 0,
      maxHeaderSize: 65_536,
      shouldUpgradeCallback: (request) => !hasBody(request)
    })
    this.#server.on("request", (message, response) => this.#serveHttp1(message, new Http1Answer(message, response)))
    const upgrade = (message: http.IncomingMessage, socket: Duplex, head: Uint8Array): void => {
      const upgradable: Upgradable = { socket, head }
      this.#serveHttp1(message, new Http1Answer(message, undefined, upgradable))
    }
    this.#server.on("upgrade", upgrade)
    this.#server.on("connect", upgrade)
  }

  /** Takes over a connection whose first bytes, still unread, are HTTP/1.x. */
  takeHttp1(redirected: IncomingConnection): void {
    const application = applicationConnections(redirected.connectToApplication)
    const pass = (served: ServedRequest): void => passThrough(served, application, this.#options.agentVersion)
    this.#connections.set(redirected.socket, { redirected, pass })
    redirected.socket.once("close", () => application.destroy())
    this.#server.emit("connection", redirected.socket)
    // Detection left the socket paused with its first bytes put back, and a server does not start a paused socket.
    process.nextTick(() => redirected.socket.resume())
  }

  /** The same for HTTP/2. */
  takeHttp2(redirected: IncomingConnection): void {
    const application = new Http2Application(redirected.connectToApplication)
    const pass = (served: ServedRequest): void => application.pass(served, this.#options.agentVersion)
    redirected.socket.once("close", () => application.destroy())
    serveHttp2(redirected.socket, (message, answer) => this.#serve(message, answer, { redirected, pass }))
  }

  #serveHttp1(message: http.IncomingMessage, answer: HttpAnswer): void {
    const connection = this.#connections.get(message.socket)
    if (connection === undefined) return answer.fail("")
    this.#serve(http1Message(message), answer, connection)
  }

  #serve(message: HttpMessage, answer: HttpAnswer, connection: Connection): void {
    this.#guard(answer, () => this.#route(message, answer, connection))
  }

  /** A mistake in one request must not end the process that serves all others. */
  #guard(answer: HttpAnswer, run: () => void): void {
    try {
      run()
    } catch (error) {
      answer.fail(`mirrord-agent v${this.#options.agentVersion}: ${describeError(error)}`)
    }
  }

  #route(message: HttpMessage, answer: HttpAnswer, connection: Connection): void {
    const request = incomingRequest(message, connection.redirected)
    const served = { message, body: message.body, answer }
    if (request === undefined) return connection.pass(served)
    this.#mirror(request, served)
    const { after, bodyLimits } = this.#options
    if (!message.hasBody || !stealsByBody(this.#view.subscriptions(), request.destination.port)) {
      return this.#deliver(request, served, connection)
    }
    const waiting = { message, answer, body: keptBody(message, bodyLimits.maxBytes) }
    collectBody(message, bodyLimits, after, (body) =>
      this.#guard(answer, () => this.#deliver(request, waiting, connection, body))
    )
  }

  /** @param known the body, if filters are to see it */
  #deliver(request: IncomingRequest, served: ServedRequest, { pass }: Connection, known?: Uint8Array): void {
    const { agentVersion } = this.#options
    const thief = this.#decide(request, served.answer.upgradable !== undefined, known)
    if (thief === undefined) pass(served)
    else stealRequest({ ...thief, ...served, request, agentVersion })
  }

  #decide(request: IncomingRequest, upgrade: boolean, body: Uint8Array | undefined) {
    const {
      client: owner,
      filtered,
      alsoMatching
    } = ownerOfRequest(this.#view.subscriptions(), request.destination.port, { ...request, body })
    const client = owner === undefined ? undefined : this.#view.client(owner)
    if (client === undefined) return undefined
    for (const other of alsoMatching) {
      const text = `An HTTP request was stolen by another user: ${request.method} ${request.uri}`
      this.#view.client(other)?.output.log("Warn", text)
    }
    const form = stolenRequestForm(client.output.version(), filtered, upgrade)
    if (form !== undefined) return { client, form }
    client.output.log("Error", `An HTTP request was not stolen: ${tooOld(client.output.version())}`)
    return undefined
  }

  /** Copies the request for clients that want it whatever its body is, and later for clients that want its body. */
  #mirror(request: IncomingRequest, served: ServedRequest): void {
    const { port } = request.destination
    const { after, bodyLimits } = this.#options
    for (const id of mirrorsOfRequest(this.#view.subscriptions(), port, request)) this.#copy(id, request, served)
    const curious = mirrorsByBody(this.#view.subscriptions(), port, request)
    if (curious.length === 0 || !served.message.hasBody) return
    collectBody(served.message, bodyLimits, after, (body) => {
      if (body === undefined) return
      for (const id of mirrorsOfRequest(this.#view.subscriptions(), port, { ...request, body })) {
        if (curious.includes(id)) this.#copy(id, request, served, body)
      }
    })
  }

  #copy(id: number, request: IncomingRequest, served: ServedRequest, body?: Uint8Array): void {
    const client = this.#view.client(id)
    if (client === undefined) return
    const version = client.output.version()
    if (canMirrorRequests(version)) mirrorRequest(client, request, served, body)
    else client.output.log("Error", `An HTTP request was not mirrored: ${tooOld(version)}`)
  }
}
