/**
 * Connections through a proxy for HTTP or SOCKS.
 *
 * Not here: which proxy a cluster is reached through (adapters/kubernetes/proxies.ts).
 */

import type { AgentOptions } from "node:http"
import { HttpsProxyAgent } from "https-proxy-agent"
import { SocksClient } from "socks"
import { SocksProxyAgent } from "socks-proxy-agent"
import { buildConnector } from "undici"

/**
 * An agent whose connections go through the proxy with this URL; `undefined` without a proxy. It has no credentials,
 * which client-node's own agent keeps from its first request on.
 */
export const proxyAgent = (proxy: string | undefined, options: AgentOptions = {}) => {
  if (proxy === undefined || proxy === "") return undefined
  return isSocks(proxy) ? socksAgent(proxy, options) : new HttpsProxyAgent(proxy, options)
}

/** Whether a proxy's URL is one of SOCKS. */
export const isSocks = (proxy: string): boolean => proxy.startsWith("socks")

/** A proxy's URL without the user and the password in it. */
export const shownProxy = (proxy: string): string => proxy.slice(proxy.lastIndexOf("@") + 1)

/** The agent of a proxy for SOCKS, which looks names up itself, as for kubectl: this machine may not know them. */
const socksAgent = (proxy: string, options: AgentOptions = {}): SocksProxyAgent =>
  new SocksProxyAgent(proxy.replace(/^socks5:/u, "socks5h:"), options)

/** Where a proxy for SOCKS is, and its user; by its URL. */
export const socksAddress = (proxy: string): SocksProxyAgent["proxy"] => socksAgent(proxy).proxy

/**
 * Connects undici's requests through a proxy for SOCKS, by HTTP/1.1. Undici's own way calls itself experimental on a
 * person's terminal, and knows no `socks5h`. `options`: of TLS, with the longest time until a connection stands, ms.
 */
export const socksConnector = (
  proxy: string,
  options: buildConnector.BuildOptions & { readonly timeout: number }
): buildConnector.connector => {
  const address = socksAddress(proxy)
  const secure = buildConnector({ ...options, allowH2: false })
  return (wanted, callback) => {
    const destination = {
      host: wanted.hostname,
      port: Number(wanted.port) || (wanted.protocol === "https:" ? 443 : 80)
    }
    const client = new SocksClient({ proxy: address, command: "connect", destination, timeout: options.timeout })
    client.once("established", ({ socket }) =>
      wanted.protocol === "https:" ? secure({ ...wanted, httpSocket: socket }, callback) : callback(null, socket)
    )
    client.once("error", (error) => callback(error, null))
    client.connect()
  }
}
