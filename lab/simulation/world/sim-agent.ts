/**
 * A mirrord agent in virtual time, with plain callbacks only (wire.md §7, agent.md §3.4, §6). Its decisions
 * (subscriptions, filters, message forms, environment, outgoing connections) are the reference agent's of lab/agent;
 * mirrord's own agent is not involved. All happens as `process`: a paused agent says nothing, a dead agent never will.
 */

import { Result } from "effect"
import type { HttpFilter } from "../../../src/domain/protocol/http-filter-messages.ts"
import type { BodyFrame, ChunkedResponse } from "../../../src/domain/protocol/http-messages.ts"
import type { LayerTcp, LayerTcpSteal } from "../../../src/domain/protocol/incoming-messages.ts"
import { checkText, headerName, isHeaderValue } from "../../../src/domain/protocol/text-rules.ts"
import type { FrameChannel } from "../../../src/ports/frame-channel.ts"
import { agentVersion } from "../../agent/agent.ts"
import type { ResponsePart } from "../../agent/incoming/incoming-client.ts"
import {
  type IncomingRequest,
  type RequestForm,
  requestId,
  requestStart,
  wholeRequest
} from "../../agent/incoming/incoming-messages.ts"
import { MirrorCopy } from "../../agent/incoming/mirror-copy.ts"
import { stealFilter, subscriptionMatcher } from "../../agent/incoming/steal-filter.ts"
import { dropped } from "../../agent/incoming/stolen-request.ts"
import {
  dropClient,
  mirror,
  mirrorsOfRequest,
  noSubscriptions,
  ownerOfRequest,
  steal,
  stopMirroring,
  stopStealing,
  subscribedPorts,
  type Subscriptions
} from "../../agent/incoming/subscriptions.ts"
import type { SimProcess } from "../kernel/sim-process.ts"
import { type ClientSurroundings, SimAgentClient } from "./sim-agent-client.ts"
import { podEnvironment, podIp } from "./sim-agent-pod.ts"

export interface SimAgentOptions {
  /** The cluster's name, which every answer contains. */
  readonly cluster: string
  /** The pod whose traffic the agent handles; empty: targetless. */
  readonly pod: string
  /** The protocol version that the agent speaks, "1.2.2" … "1.29.0". */
  readonly version: string
  readonly process: SimProcess
  /** Time that the agent thinks before an answer, ms; drawn again for each answer. */
  readonly delay: () => number
  /** The longest such time, ms; as long as any answer unless it is given. */
  readonly maxDelay?: () => number
  /** After so long without any client since its start the agent exits, ms. */
  readonly firstClientTimeout: number
  /** After so long without a client since the last one left the agent exits, ms. */
  readonly idleTtl: number
  /** The agent ended by itself. */
  readonly exited: () => void
  /** Variables of the pod beside the usual ones. */
  readonly environment?: Readonly<Record<string, string>>
}

/** An HTTP request, without a body, that enters the pod. */
export interface PodRequest {
  readonly id: number
  readonly port: number
  readonly method: string
  readonly path: string
  readonly headers: ReadonlyArray<readonly [string, string]>
}

/**
 * `by` client: the request was stolen. The agent itself answers 502 in place of a client that dropped the request or
 * left.
 */
export type Answered = { readonly by: "workload" | "client"; readonly status: number; readonly body: string }

/** A request on a redirected port, from its arrival to its answer. */
interface Flight {
  readonly request: PodRequest
  readonly answered: (answer: Answered) => void
  /** The client's response, as far as it was heard. */
  status: number | undefined
  body: string
  /** Copies that mirroring clients got; they close with the answer. */
  readonly copies: Array<MirrorCopy>
  over: boolean
}

const encoder = new TextEncoder()
const decoder = new TextDecoder()

const textOf = (frames: ReadonlyArray<BodyFrame>): string => {
  let text = ""
  for (const frame of frames) if (frame._tag === "Data") text += decoder.decode(frame.value)
  return text
}

const tooOld = (client: SimAgentClient): string => `the client's protocol version ${client.version()} is too old for it`

const isUpgrade = ({ headers }: PodRequest): boolean => headers.some(([name]) => name.toLowerCase() === "upgrade")

/**
 * The request as messages carry it; undefined for a request that the wire cannot carry, which only the workload sees.
 */
const incomingRequest = (request: PodRequest): IncomingRequest | undefined => {
  const [method, uri] = [checkText("method", request.method), checkText("uri", request.path)]
  const headers = request.headers.map(([name, value]) => [name.toLowerCase(), encoder.encode(value)] as const)
  if (headers.some(([name, value]) => headerName(name) === undefined || !isHeaderValue(value))) return undefined
  if (Result.isFailure(method) || Result.isFailure(uri)) return undefined
  return {
    method: method.success,
    uri: uri.success,
    headers,
    version: "HTTP/1.1",
    source: { ip: "10.0.0.9", port: 40_000 + (request.id % 20_000) },
    destination: { ip: podIp, port: request.port }
  }
}

export class SimAgent {
  readonly #options: SimAgentOptions
  readonly #surroundings: ClientSurroundings
  readonly #clients = new Map<number, SimAgentClient>()
  readonly #flights = new Set<Flight>()
  #subscriptions: Subscriptions = noSubscriptions
  #ports: ReadonlySet<number> = new Set()
  #accepted = 0
  #stolen = 0
  #exited = false
  #isJammed = false

  constructor(options: SimAgentOptions) {
    const { cluster, pod, version, process, delay, maxDelay = delay } = options
    this.#options = options
    this.#surroundings = {
      cluster,
      version,
      process,
      delay,
      maxDelay,
      env: podEnvironment(cluster, pod, options.environment ?? {}),
      targetless: pod === "",
      mirror: (client, message) => this.#hearMirror(client, message),
      steal: (client, message) => this.#hearSteal(client, message),
      left: (client) => this.#left(client)
    }
    this.#exitIn(options.firstClientTimeout)
  }

  /** Open connections. */
  get clients(): number {
    return this.#clients.size
  }

  /** Ports that are redirected to the agent. */
  get subscribedPorts(): ReadonlySet<number> {
    return this.#ports
  }

  /** The clients that get the traffic of each port. */
  get subscriptions(): Subscriptions {
    return this.#subscriptions
  }

  /** Stolen requests without a complete answer. */
  get openTraffic(): number {
    return this.#stolen
  }

  /** Takes a new client connection, with fresh state and counters from 0. */
  accept(channel: FrameChannel): void {
    if (this.#exited) return channel.close()
    const id = this.#accepted++
    const client = new SimAgentClient(id, channel, this.#surroundings)
    this.#clients.set(id, client)
    client.open()
  }

  /**
   * A request enters the pod. `answered` is called once, unless the process dies. On a port without subscriptions the
   * agent has no part in it: the workload answers at once, even while the agent is paused.
   */
  request(request: PodRequest, answered: (answer: Answered) => void): void {
    const flight: Flight = { request, answered, status: undefined, body: "", copies: [], over: false }
    if (!this.#ports.has(request.port)) return this.#passThrough(flight)
    this.#flights.add(flight)
    this.#options.process.after(this.#options.delay(), () => this.#route(flight))
  }

  /** From now on no port is stolen for clients that ask, while everything else is answered (agent.md §6.10). */
  jam(): void {
    this.#isJammed = true
  }

  /** Exits unless a client comes before. Nothing is cancelled: a timer that fell due during a pause still runs. */
  #exitIn(ms: number): void {
    const accepted = this.#accepted
    this.#options.process.after(ms, () => {
      if (this.#accepted !== accepted) return
      this.#exited = true
      for (const flight of this.#flights) this.#passThrough(flight)
      this.#options.exited()
    })
  }

  #left(client: SimAgentClient): void {
    this.#clients.delete(client.id)
    this.#subscribe(dropClient(this.#subscriptions, client.id))
    client.incoming.leave()
    if (this.#clients.size === 0) this.#exitIn(this.#options.idleTtl)
  }

  #subscribe(next: Subscriptions): void {
    if (next === this.#subscriptions) return
    this.#subscriptions = next
    this.#ports = subscribedPorts(next)
  }

  // Requests

  #finish(flight: Flight, by: Answered["by"], status: number, body: string): void {
    if (flight.over) return
    flight.over = true
    this.#flights.delete(flight)
    for (const copy of flight.copies) copy.close()
    flight.answered({ by, status, body })
  }

  #passThrough(flight: Flight): void {
    const { method, path } = flight.request
    this.#finish(flight, "workload", 200, `hello from ${this.#options.cluster}: ${method} ${path}`)
  }

  /**
   * Copies the request for mirroring clients, then hands it to the client that steals it, else to the workload
   * (agent.md §6.5).
   */
  #route(flight: Flight): void {
    if (flight.over) return
    const request = incomingRequest(flight.request)
    if (request === undefined) return this.#passThrough(flight)
    const upgrade = isUpgrade(flight.request)
    const thief = this.#decide(request, upgrade)
    const mirrors = mirrorsOfRequest(this.#subscriptions, request.destination.port, request)
    for (const id of mirrors) this.#copy(flight, request, id)
    if (thief !== undefined) return this.#hand(flight, request, thief.client, thief.form)
    if (flight.copies.length === 0) return this.#passThrough(flight)
    // An answer at the same instant would abort the copies before their readers could read them.
    this.#options.process.after(this.#options.delay(), () => this.#passThrough(flight))
  }

  #decide(request: IncomingRequest, upgrade: boolean) {
    const { port } = request.destination
    const { client: owner, filtered, alsoMatching } = ownerOfRequest(this.#subscriptions, port, request)
    const client = owner === undefined ? undefined : this.#clients.get(owner)
    if (client === undefined) return undefined
    for (const other of alsoMatching) {
      const line = `An HTTP request was stolen by another user: ${request.method} ${request.uri}`
      this.#clients.get(other)?.log("Warn", line)
    }
    const form = client.requestForm(filtered, upgrade)
    if (form !== undefined) return { client, form }
    client.log("Error", `An HTTP request was not stolen: ${tooOld(client)}`)
    return undefined
  }

  #copy(flight: Flight, request: IncomingRequest, id: number): void {
    const client = this.#clients.get(id)
    if (client === undefined) return
    if (!client.takesMirroredRequests) {
      client.log("Error", `An HTTP request was not mirrored: ${tooOld(client)}`)
      return
    }
    const copy = new MirrorCopy(client.incoming)
    flight.copies.push(copy)
    for (const start of requestStart("ChunkedV2", copy.id, request, true)) copy.send(start)
  }

  #hand(flight: Flight, request: IncomingRequest, { incoming }: SimAgentClient, form: RequestForm): void {
    const end = (status: number, body: string): void => {
      this.#stolen--
      this.#finish(flight, "client", status, body)
    }
    const connectionId: bigint = incoming.openStolen({
      // Data comes only after an upgrade, and the simulated peer hangs up right after that.
      data: () => {},
      response: (part) => {
        if (part._tag === "Error") return incoming.unsubscribeStolen(connectionId)
        if (!hear(flight, part)) return
        end(flight.status ?? 200, flight.body)
        incoming.closeStolen(connectionId)
      },
      abandoned: () => end(502, dropped(agentVersion))
    })
    this.#stolen++
    if (form === "ChunkedV2" || form === "ChunkedV1") {
      for (const message of requestStart(form, connectionId, request, true)) incoming.sendStolen(message)
    } else {
      incoming.sendStolen(wholeRequest(form, connectionId, request, []))
    }
  }

  // Messages about incoming traffic; each is handled when its turn has come.

  #hearMirror(client: SimAgentClient, message: LayerTcp): void {
    switch (message._tag) {
      case "PortSubscribe":
        return this.#mirror(client, message.value, undefined)
      case "PortSubscribeFilteredHttp":
        return this.#mirror(client, message.port, message.filter)
      case "PortUnsubscribe":
        return this.#subscribe(stopMirroring(this.#subscriptions, message.value, client.id))
      case "ConnectionUnsubscribe":
        return client.incoming.unsubscribeMirrored(message.value)
    }
  }

  #mirror(client: SimAgentClient, port: number, filter: HttpFilter | undefined): void {
    const compiled = subscriptionMatcher(filter)
    if (Result.isFailure(compiled)) {
      client.send({ _tag: "Close", value: `Invalid HTTP filter: ${compiled.failure}` })
      return client.close()
    }
    this.#subscribe(mirror(this.#subscriptions, port, client.id, compiled.success))
    client.incoming.sendMirrored({ _tag: "SubscribeResult", value: { _tag: "Ok", value: port } })
  }

  #hearSteal(client: SimAgentClient, message: LayerTcpSteal): void {
    const { incoming } = client
    switch (message._tag) {
      case "PortSubscribe": {
        if (this.#isJammed) return
        const { port, filter } = stealFilter(message.value)
        const compiled = subscriptionMatcher(filter)
        if (Result.isFailure(compiled)) {
          // The client is told to go, but the connection stays (wire.md §7.4).
          client.send({ _tag: "Close", value: `Invalid HTTP filter: ${compiled.failure}` })
          return
        }
        this.#subscribe(steal(this.#subscriptions, port, client.id, compiled.success))
        incoming.sendStolen({ _tag: "SubscribeResult", value: { _tag: "Ok", value: port } })
        return
      }
      case "PortUnsubscribe":
        return this.#subscribe(stopStealing(this.#subscriptions, message.value, client.id))
      case "ConnectionUnsubscribe":
        return incoming.unsubscribeStolen(message.value)
      case "Data":
        return incoming.data(message.value.connectionId, message.value.bytes)
      case "HttpResponse": {
        const {
          connectionId,
          internalResponse: { status, headers, body }
        } = message.value
        if (message.value.requestId !== requestId) return
        return incoming.response(connectionId, {
          _tag: "Start",
          status,
          headers,
          frames: [{ _tag: "Data", value: body }],
          isLast: true
        })
      }
      case "HttpResponseFramed": {
        const {
          connectionId,
          internalResponse: { status, headers, body: frames }
        } = message.value
        if (message.value.requestId !== requestId) return
        return incoming.response(connectionId, { _tag: "Start", status, headers, frames, isLast: true })
      }
      case "HttpResponseChunked":
        return hearChunk(client, message.value)
    }
  }
}

/** Answers with another request number are ignored (wire.md §7.3). */
const hearChunk = ({ incoming }: SimAgentClient, message: ChunkedResponse): void => {
  const { connectionId } = message.value
  if (message.value.requestId !== requestId) return
  switch (message._tag) {
    case "Start": {
      const { status, headers, body: frames } = message.value.internalResponse
      return incoming.response(connectionId, { _tag: "Start", status, headers, frames, isLast: false })
    }
    case "Body": {
      const { frames, isLast } = message.value
      return incoming.response(connectionId, { _tag: "Body", frames, isLast })
    }
    case "Error":
      return incoming.response(connectionId, { _tag: "Error" })
  }
}

/** Whether the response is complete now. A second start, and a body without a start, are ignored; 101 has no body. */
const hear = (flight: Flight, part: Exclude<ResponsePart, { readonly _tag: "Error" }>): boolean => {
  if ((flight.status === undefined) !== (part._tag === "Start")) return false
  if (part._tag === "Start") flight.status = part.status
  flight.body += textOf(part.frames)
  return part.isLast || (flight.status === 101 && isUpgrade(flight.request))
}
