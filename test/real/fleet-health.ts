/** The fleet's health as the primary's operator reports it. */

import type { AnyPlayground } from "../../lab/playground/local-cluster.ts"
import { apiClient } from "./api-client.ts"
import { eventually } from "./harness.ts"

interface Operator {
  readonly status?: {
    readonly connected_clusters?: ReadonlyArray<{
      readonly name: string
      readonly connected?: unknown
      readonly error?: { readonly message: string }
    }>
  }
}

/** Waits until the primary's operator reports every cluster as connected, except for those given. */
export const fleetIs = ({ primary }: AnyPlayground, disconnected: ReadonlyArray<string> = []): Promise<void> =>
  eventually(
    `the primary's view of its clusters: ${disconnected.join(", ") || "none"} lost`,
    async () => {
      const { body, status } = await apiClient(primary.cluster.kubeconfigPath).call(
        "GET",
        "/apis/operator.metalbear.co/v1/mirrordoperators/operator"
      )
      const clusters = (body as Operator).status?.connected_clusters ?? []
      const asExpected = clusters.every(
        ({ connected, name }) => (connected === undefined) === disconnected.includes(name)
      )
      if (status !== 200 || clusters.length === 0 || !asExpected)
        throw new Error(`${status} ${JSON.stringify(clusters)}`)
    },
    40_000
  )
