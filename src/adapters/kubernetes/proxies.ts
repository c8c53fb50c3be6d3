/**
 * The proxies through which the clusters of a configuration are reached: those of their `proxy-url`, or of the
 * environment.
 *
 * Not here: which proxy the environment means (domain/fleet/proxy.ts), and connecting.
 */

import type { KubeConfig } from "@kubernetes/client-node"
import { proxyFor } from "../../domain/fleet/proxy.ts"

/** Writes the environment's proxy into a configuration, for the clusters that it is meant for and that have none. */
export const withProxies = (config: KubeConfig): KubeConfig => {
  config.clusters = config.clusters.map((cluster) => {
    const proxyUrl = cluster.proxyUrl || proxyFor(cluster.server, process.env)
    return proxyUrl === undefined ? cluster : { ...cluster, proxyUrl }
  })
  return config
}

/** The proxy of a configuration's cluster; `undefined` if it is reached without. */
export const proxyOf = (config: KubeConfig): string | undefined => config.getCurrentCluster()?.proxyUrl || undefined
