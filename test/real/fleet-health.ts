/** The fleet's health as the primary's operator reports it. */

import type { AnyPlayground, LocalCluster } from "../../lab/playground/local-cluster.ts"
import { eventually } from "../support/eventually.ts"
import { apiClient } from "./api-client.ts"

interface ConnectedCluster {
  readonly name: string
  readonly connected?: unknown
  readonly error?: { readonly message: string }
}

/** The clusters of the fleet, as the primary's operator reports them. */
export const connectedClusters = async ({ kubeconfigPath }: LocalCluster): Promise<ReadonlyArray<ConnectedCluster>> => {
  const path = "/apis/operator.metalbear.co/v1/mirrordoperators/operator"
  const { body, status } = await apiClient(kubeconfigPath).call("GET", path)
  if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`)
  return (
    (body as { readonly status?: { readonly connected_clusters?: ReadonlyArray<ConnectedCluster> } }).status
      ?.connected_clusters ?? []
  )
}

/** Waits until the primary's operator reports every cluster as connected, except for those given. */
export const fleetIs = ({ primary }: AnyPlayground, disconnected: ReadonlyArray<string> = []): Promise<void> =>
  eventually(`the primary's view of its clusters: ${disconnected.join(", ") || "none"} lost`, async () => {
    const clusters = await connectedClusters(primary.cluster)
    const asExpected = clusters.every(
      ({ connected, name }) => (connected === undefined) === disconnected.includes(name)
    )
    if (clusters.length === 0 || !asExpected) throw new Error(JSON.stringify(clusters))
  })
