/**
 * Connections to one API server: HTTP/2 for requests without a body, which most are, and HTTP/1.1 for the others.
 * Node's HTTP/2 client never comes back, and takes all memory, where a request is given up before its body is sent
 * (docs/concepts/decisions.md).
 */

import type { RequestOptions } from "node:https"
import type { Socket } from "node:net"
import type { Duplex } from "node:stream"
import { Agent, type buildConnector, type Dispatcher, ProxyAgent } from "undici"
import { isSocks, socksConnector } from "../stream/proxy-agent.ts"

/** How long a server may be silent, in ms. */
export interface ConnectionTimes {
  /** Longest time until a connection stands. */
  readonly connectTimeout: number
  /** Longest time until an answer begins. */
  readonly headersTimeout: number
  /** Longest silence within an answer. */
  readonly bodyTimeout: number
}

/**
 * Opens a connection to an API server that cannot be dialled: a lane of the tunnel that its own operator has dialled
 * (docs/operating/outbound.md). Throws an error with a sentence when there is no tunnel.
 */
export type OpenLane = () => Duplex

/**
 * Connects undici's requests over lanes, by HTTP/1.1 in clear: they are inside of the tunnel's TLS. It answers in
 * another turn, because undici sends nothing on a connection that stands at once.
 */
const laneConnector =
  (openLane: OpenLane): buildConnector.connector =>
  (_wanted, callback) =>
    process.nextTick(() => {
      try {
        // Undici needs nothing of a socket that another stream does not have.
        callback(null, openLane() as Socket)
      } catch (cause) {
        callback(cause instanceof Error ? cause : new Error(String(cause)), null)
      }
    })

/** How many requests with a body are under way at a time; later ones wait. Each has a connection of its own. */
const maxWithBody = 64

export class Connections {
  readonly #withoutBody: Dispatcher
  readonly #withBody: Dispatcher

  /**
   * `options`: the TLS options of a configuration. `way`: the URL of a proxy, or lanes; `undefined` if the server is
   * reached directly.
   */
  constructor(
    { ca, cert, key, rejectUnauthorized, servername }: RequestOptions,
    { bodyTimeout, connectTimeout, headersTimeout }: ConnectionTimes,
    way?: string | OpenLane
  ) {
    const connect = {
      ca,
      cert,
      key,
      rejectUnauthorized: rejectUnauthorized ?? true,
      servername,
      timeout: connectTimeout
    }
    const times = { headersTimeout, bodyTimeout }
    const agent = (options: Agent.Options): Dispatcher => {
      if (way === undefined) return new Agent({ ...times, ...options, connect })
      if (typeof way === "function")
        // A lane for each request costs no round trip, and none is kept of a tunnel that is being replaced.
        return new Agent({ ...times, ...options, connect: laneConnector(way), pipelining: 0 })
      return isSocks(way)
        ? new Agent({ ...times, ...options, connect: socksConnector(way, connect) })
        : new ProxyAgent({ ...times, ...options, uri: way, requestTls: connect, connectTimeout })
    }
    this.#withoutBody = agent({ allowH2: way === undefined })
    this.#withBody = agent({ allowH2: false, connections: maxWithBody })
  }

  /** Sends one request. */
  request(options: Dispatcher.RequestOptions): Promise<Dispatcher.ResponseData> {
    const agent = options.body === undefined || options.body === null ? this.#withoutBody : this.#withBody
    return agent.request(options)
  }

  /** Requests under way go on. */
  async close(): Promise<void> {
    await Promise.all([this.#withoutBody.close(), this.#withBody.close()])
  }

  /** Ends all requests. */
  async destroy(): Promise<void> {
    await Promise.all([this.#withoutBody.destroy(), this.#withBody.destroy()])
  }
}
