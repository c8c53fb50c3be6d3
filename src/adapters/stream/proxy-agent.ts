/**
 * Connections through a proxy for HTTP or SOCKS.
 *
 * Not here: which proxy a cluster is reached through (adapters/kubernetes/proxies.ts).
 */

import type { Agent } from "node:http"
import { HttpsProxyAgent } from "https-proxy-agent"
import { SocksProxyAgent } from "socks-proxy-agent"

/**
 * An agent whose connections go through the proxy with this URL; `undefined` without a proxy. It has no credentials,
 * which client-node's own agent keeps from its first request on.
 */
export const proxyAgent = (proxy: string | undefined): Agent | undefined => {
  if (proxy === undefined || proxy === "") return undefined
  return proxy.startsWith("socks") ? new SocksProxyAgent(proxy) : new HttpsProxyAgent(proxy)
}
