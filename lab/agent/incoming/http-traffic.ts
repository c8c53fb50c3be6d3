/**
 * HTTP/1.x on redirected ports of the reference agent. Other traffic is in `raw-traffic.ts`, the choice between both in
 * `agent-incoming.ts`.
 */

import * as http from "node:http"
import type { Duplex } from "node:stream"
import * as Result from "effect/Result"
import { checkText } from "../../../src/domain/protocol/text-rules.ts"
import type { RedirectedConnection } from "../../cluster/node/agent-target.ts"
import { describeError } from "../node-errors.ts"
import { headerList, type HttpAnswer, type ServedRequest, type Upgradable } from "./http-answer.ts"
import { hasBody, httpMessage, type HttpMessage } from "./http-message.ts"
import { Http1Answer } from "./http1-answer.ts"
import { applicationConnections, passThrough } from "./http1-passthrough.ts"
import type { IncomingClient } from "./incoming-client.ts"
import {
  canMirrorRequests,
  type IncomingRequest,
  requestBody,
  requestStart,
  stolenRequestForm
} from "./incoming-messages.ts"
import { MirrorCopy } from "./mirror-copy.ts"
import { stealRequest, trailerFrames } from "./stolen-request.ts"
import { mirrorsOfRequest, ownerOfRequest, type Subscriptions } from "./subscriptions.ts"

interface Connection {
  readonly redirected: RedirectedConnection
  /** Passes a request on to the application. */
  readonly pass: (served: ServedRequest) => void
}

/** Looked up for every request again, because subscriptions change while a connection lives. */
export interface TrafficView {
  readonly subscriptions: () => Subscriptions
  readonly client: (id: number) => IncomingClient | undefined
}

export interface HttpOptions {
  readonly agentVersion: string
}

const tooOld = (version: string): string => `the client's protocol version ${version} is too old for it`

/**
 * The request as messages carry it; undefined for a request that the wire cannot carry (an illegal target), which only
 * the application sees.
 */
const incomingRequest = (message: HttpMessage, redirected: RedirectedConnection): IncomingRequest | undefined => {
  const method = checkText("method", message.method)
  const uri = checkText("uri", message.uri)
  if (Result.isFailure(method) || Result.isFailure(uri)) return undefined
  return {
    method: method.success,
    uri: uri.success,
    headers: headerList(message.rawHeaders),
    version: message.version,
    source: redirected.source,
    destination: redirected.destination
  }
}

/**
 * Copies a request for one client. `Close` follows when the peer has its answer; an earlier `Close` would abort the
 * client's own request.
 */
const mirrorRequest = (client: IncomingClient, request: IncomingRequest, { message, answer }: ServedRequest): void => {
  const copy = new MirrorCopy(client)
  for (const start of requestStart("ChunkedV2", copy.id, request, !message.hasBody)) copy.send(start)
  answer.onClose(() => copy.close())
  if (!message.hasBody) return
  message.body.on("data", (value: Uint8Array) => copy.send(requestBody(copy.id, [{ _tag: "Data", value }], false)))
  message.body.once("end", () => {
    if (message.complete()) copy.send(requestBody(copy.id, trailerFrames(message), true))
  })
}

/**
 * Decides each request of a connection on its own (agent.md §6.5): copies for clients that mirror, then to the client
 * that steals it, else to the application. Parsing and framing are Node's.
 *
 * A request counts as an upgrade if it asks for one and has no body; with a body it is served like any other.
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
    this.#server.on("request", (message, response) => this.#serve(message, new Http1Answer(message, response)))
    const upgrade = (message: http.IncomingMessage, socket: Duplex, head: Uint8Array): void => {
      const upgradable: Upgradable = { socket, head }
      this.#serve(message, new Http1Answer(message, undefined, upgradable))
    }
    this.#server.on("upgrade", upgrade)
    this.#server.on("connect", upgrade)
  }

  /** Takes over a connection whose first bytes, still unread, are HTTP/1.x. */
  take(redirected: RedirectedConnection): void {
    const application = applicationConnections(redirected.connectToApplication)
    const pass = (served: ServedRequest): void => passThrough(served, application, this.#options.agentVersion)
    this.#connections.set(redirected.socket, { redirected, pass })
    redirected.socket.once("close", () => application.destroy())
    this.#server.emit("connection", redirected.socket)
    // Detection left the socket paused with its first bytes put back, and a server does not start a paused socket.
    process.nextTick(() => redirected.socket.resume())
  }

  #serve(message: http.IncomingMessage, answer: HttpAnswer): void {
    const connection = this.#connections.get(message.socket)
    if (connection === undefined) return answer.fail("")
    // A mistake in one request must not end the process that serves all others.
    try {
      this.#route({ message: httpMessage(message), answer }, connection)
    } catch (error) {
      answer.fail(`mirrord-agent v${this.#options.agentVersion}: ${describeError(error)}`)
    }
  }

  #route(served: ServedRequest, { pass, redirected }: Connection): void {
    const request = incomingRequest(served.message, redirected)
    if (request === undefined) return pass(served)
    const { port } = request.destination
    for (const id of mirrorsOfRequest(this.#view.subscriptions(), port, request)) this.#copy(id, request, served)
    const thief = this.#decide(request, served.answer.upgradable !== undefined)
    if (thief === undefined) pass(served)
    else stealRequest({ ...thief, ...served, request, agentVersion: this.#options.agentVersion })
  }

  #decide(request: IncomingRequest, upgrade: boolean) {
    const all = this.#view.subscriptions()
    const { client: owner, filtered, alsoMatching } = ownerOfRequest(all, request.destination.port, request)
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

  #copy(id: number, request: IncomingRequest, served: ServedRequest): void {
    const client = this.#view.client(id)
    if (client === undefined) return
    const version = client.output.version()
    if (canMirrorRequests(version)) mirrorRequest(client, request, served)
    else client.output.log("Error", `An HTTP request was not mirrored: ${tooOld(version)}`)
  }
}
