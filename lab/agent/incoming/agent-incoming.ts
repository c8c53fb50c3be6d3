/**
 * Incoming traffic of the reference agent: mirroring and stealing for all its clients, on top of `AgentTarget.redirect`
 * (agent.md §6.1, §6.5). Ownership is decided in `subscriptions.ts`.
 */

import { Result } from "effect"
import type { HttpFilter } from "../../../src/domain/protocol/http-filter-messages.ts"
import type { ChunkedResponse } from "../../../src/domain/protocol/http-messages.ts"
import type { LayerTcp, LayerTcpSteal } from "../../../src/domain/protocol/incoming-messages.ts"
import type { AgentTarget, RedirectedConnection } from "../../cluster/node/agent-target.ts"
import { type After, type AgentOutput, ok } from "../agent-output.ts"
import { describeError } from "../node-errors.ts"
import { type ConnectionKind, detectConnection } from "./detect-connection.ts"
import { HttpTraffic } from "./http-traffic.ts"
import { IncomingClient } from "./incoming-client.ts"
import { copyTo, join, stealConnection } from "./raw-traffic.ts"
import { stealFilter, subscriptionMatcher } from "./steal-filter.ts"
import {
  dropClient,
  mirror,
  mirrorsOfConnection,
  noSubscriptions,
  ownerOfConnection,
  steal,
  stopMirroring,
  stopStealing,
  subscribedPorts,
  type Subscriptions
} from "./subscriptions.ts"

/** The effect of a message about incoming traffic on its sender, beyond answers. `Close` texts as in wire.md §7.4. */
export type IncomingOutcome =
  | { readonly _tag: "Fine" }
  /** The client is told to go, but the connection stays. */
  | { readonly _tag: "Close"; readonly reason: string }
  | { readonly _tag: "EndConnection"; readonly reason: string }

const fine: IncomingOutcome = { _tag: "Fine" }

export interface IncomingOptions {
  readonly target: AgentTarget
  readonly agentVersion: string
  readonly after: After
  readonly httpDetectionTimeoutMs: number
}

/**
 * All incoming traffic of one agent. A port is redirected while any client subscribes to it (agent.md §6.8). On a
 * filtered port everything that is not HTTP/1.x goes to the application. There is no TLS.
 */
export class AgentIncoming {
  readonly #options: IncomingOptions
  readonly #clients = new Map<number, IncomingClient>()
  readonly #redirects = new Map<number, () => void>()
  readonly #http: HttpTraffic
  #subscriptions: Subscriptions = noSubscriptions

  constructor(options: IncomingOptions) {
    this.#options = options
    this.#http = new HttpTraffic(
      { subscriptions: () => this.#subscriptions, client: (id) => this.#clients.get(id) },
      options
    )
  }

  join(id: number, output: AgentOutput): void {
    this.#clients.set(id, new IncomingClient(id, output))
  }

  /** A client is gone: its subscriptions end at once, its open connections with a FIN or a 502. */
  leave(id: number): void {
    const client = this.#clients.get(id)
    this.#clients.delete(id)
    this.#subscriptions = dropClient(this.#subscriptions, id)
    this.#redirect()
    client?.leave()
  }

  mirror(id: number, message: LayerTcp): IncomingOutcome {
    const client = this.#clients.get(id)
    if (client === undefined) return fine
    switch (message._tag) {
      case "PortSubscribe":
        return this.#mirror(client, message.value, undefined)
      case "PortSubscribeFilteredHttp":
        return this.#mirror(client, message.port, message.filter)
      case "PortUnsubscribe":
        this.#subscriptions = stopMirroring(this.#subscriptions, message.value, id)
        this.#redirect()
        return fine
      case "ConnectionUnsubscribe":
        client.unsubscribeMirrored(message.value)
        return fine
    }
  }

  #mirror(client: IncomingClient, port: number, filter: HttpFilter | undefined): IncomingOutcome {
    const compiled = subscriptionMatcher(filter)
    if (Result.isFailure(compiled)) return { _tag: "EndConnection", reason: `Invalid HTTP filter: ${compiled.failure}` }
    const failed = this.#subscribe(mirror(this.#subscriptions, port, client.id, compiled.success))
    if (failed !== undefined) return { _tag: "EndConnection", reason: failed }
    client.sendMirrored({ _tag: "SubscribeResult", value: ok(port) })
    return fine
  }

  steal(id: number, message: LayerTcpSteal): IncomingOutcome {
    const client = this.#clients.get(id)
    if (client === undefined) return fine
    switch (message._tag) {
      case "PortSubscribe": {
        const { port, filter } = stealFilter(message.value)
        const compiled = subscriptionMatcher(filter)
        if (Result.isFailure(compiled)) return { _tag: "Close", reason: `Invalid HTTP filter: ${compiled.failure}` }
        const failed = this.#subscribe(steal(this.#subscriptions, port, id, compiled.success))
        if (failed !== undefined) return { _tag: "EndConnection", reason: failed }
        client.sendStolen({ _tag: "SubscribeResult", value: ok(port) })
        return fine
      }
      case "PortUnsubscribe":
        this.#subscriptions = stopStealing(this.#subscriptions, message.value, id)
        this.#redirect()
        return fine
      case "ConnectionUnsubscribe":
        client.unsubscribeStolen(message.value)
        return fine
      case "Data":
        client.data(message.value.connectionId, message.value.bytes)
        return fine
      case "HttpResponse": {
        const {
          connectionId,
          requestId,
          internalResponse: { status, headers, body }
        } = message.value
        if (requestId === 0) {
          const frames = [{ _tag: "Data", value: body } as const]
          client.response(connectionId, { _tag: "Start", status, headers, frames, isLast: true })
        }
        return fine
      }
      case "HttpResponseFramed": {
        const {
          connectionId,
          requestId,
          internalResponse: { status, headers, body: frames }
        } = message.value
        if (requestId === 0) client.response(connectionId, { _tag: "Start", status, headers, frames, isLast: true })
        return fine
      }
      case "HttpResponseChunked":
        this.#chunk(client, message.value)
        return fine
    }
  }

  /** Answers under another request number than 0 are ignored (wire.md §7.3). */
  #chunk(client: IncomingClient, message: ChunkedResponse): void {
    const { connectionId, requestId } = message.value
    if (requestId !== 0) return
    switch (message._tag) {
      case "Start": {
        const { status, headers, body } = message.value.internalResponse
        return client.response(connectionId, { _tag: "Start", status, headers, frames: body, isLast: false })
      }
      case "Body": {
        const { frames, isLast } = message.value
        return client.response(connectionId, { _tag: "Body", frames, isLast })
      }
      case "Error":
        return client.response(connectionId, { _tag: "Error" })
    }
  }

  /** Takes the new subscriptions if their ports can be redirected; else the result says why not. */
  #subscribe(next: Subscriptions): string | undefined {
    const before = this.#subscriptions
    this.#subscriptions = next
    try {
      this.#redirect()
      return undefined
    } catch (error) {
      this.#subscriptions = before
      return `Background task \`TcpStealerTask\` failed: \`port redirector failed: ${describeError(error)}\``
    }
  }

  /** Redirects exactly the subscribed ports. */
  #redirect(): void {
    const wanted = subscribedPorts(this.#subscriptions)
    for (const [port, stop] of this.#redirects) {
      if (wanted.has(port)) continue
      this.#redirects.delete(port)
      stop()
    }
    for (const port of wanted) {
      if (this.#redirects.has(port)) continue
      this.#redirects.set(
        port,
        this.#options.target.redirect(port, (connection) => this.#accept(connection))
      )
    }
  }

  #accept(redirected: RedirectedConnection): void {
    const { after, httpDetectionTimeoutMs } = this.#options
    detectConnection(redirected.socket, httpDetectionTimeoutMs, after, (kind) => this.#take(redirected, kind))
  }

  #take(connection: RedirectedConnection, kind: ConnectionKind): void {
    if (kind === "Http") this.#http.take(connection)
    else if (kind === "Raw") this.#raw(connection)
  }

  #raw(connection: RedirectedConnection): void {
    const { port } = connection.destination
    const mirrors = mirrorsOfConnection(this.#subscriptions, port)
    copyTo(
      mirrors.flatMap((id) => this.#clients.get(id) ?? []),
      connection
    )
    const owner = ownerOfConnection(this.#subscriptions, port)
    const thief = owner === undefined ? undefined : this.#clients.get(owner)
    if (thief === undefined) join(connection.socket, connection.connectToApplication())
    else stealConnection(thief, connection)
  }
}
