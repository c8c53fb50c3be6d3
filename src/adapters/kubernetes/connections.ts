/**
 * Connections to one API server: HTTP/2 for requests without a body, which most are, and HTTP/1.1 for the others.
 * Node's HTTP/2 client never comes back, and takes all memory, where a request is given up before its body is sent
 * (docs/concepts/decisions.md).
 */

import type { RequestOptions } from "node:https"
import { Agent, type Dispatcher, ProxyAgent } from "undici"
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

/** How many requests with a body are under way at a time; later ones wait. Each has a connection of its own. */
const maxWithBody = 64

export class Connections {
  readonly #withoutBody: Dispatcher
  readonly #withBody: Dispatcher

  /** `options`: the TLS options of a configuration. `proxy`: its URL; `undefined` if the server is reached without. */
  constructor(
    { ca, cert, key, rejectUnauthorized, servername }: RequestOptions,
    { bodyTimeout, connectTimeout, headersTimeout }: ConnectionTimes,
    proxy?: string
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
      if (proxy === undefined) return new Agent({ ...times, ...options, connect })
      return isSocks(proxy)
        ? new Agent({ ...times, ...options, connect: socksConnector(proxy, connect) })
        : new ProxyAgent({ ...times, ...options, uri: proxy, requestTls: connect, connectTimeout })
    }
    this.#withoutBody = agent({ allowH2: proxy === undefined })
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
