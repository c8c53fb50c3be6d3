import { runCluster } from "../../lab/cluster/running-cluster.ts"
import type { StartCluster } from "./aggregating-cluster.ts"

/** The embedded cluster with its aggregation layer. */
export const startEmbedded: StartCluster = async () => {
  const { adminCredentials, close, cluster, credentialsFor } = await runCluster()
  return {
    close,
    cluster: {
      ...cluster,
      admin: adminCredentials,
      credentialsFor,
      apply: async (yaml) => cluster.apply(yaml),
      tokenOf: async (namespace, account) => cluster.serviceAccountToken(namespace, account, 3600),
      useFrontProxy: async (_authority, identity) => cluster.useFrontProxy(identity)
    }
  }
}
