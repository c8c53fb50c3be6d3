import { KubeConfig } from "@kubernetes/client-node"
import { Effect, type Scope } from "effect"
import { makeClusterConnector } from "../../src/adapters/kubernetes/cluster-connector.ts"
import type { ClusterConnector } from "../../src/ports/cluster-connector.ts"
import { LinkRefused } from "../../src/ports/member-link.ts"

/** Connects to clusters as production does, but opens no links. `kubeconfigPath`: of the own cluster. */
export const linklessConnector = (
  kubeconfigPath: string,
  own = "primary"
): Effect.Effect<ClusterConnector["Service"], never, Scope.Scope> => {
  const config = new KubeConfig()
  config.loadFromFile(kubeconfigPath)
  return makeClusterConnector(config, own, (_config, { cluster }) =>
    Effect.fail(new LinkRefused({ cluster, reason: "", detail: "none" }))
  )
}
