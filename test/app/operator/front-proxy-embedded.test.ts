/** The suite of the front proxy behind the embedded cluster; test/kubernetes runs it behind real API servers. */

import { describe } from "vitest"
import { runCluster } from "../../lab/cluster/running-cluster.ts"
import { frontProxySuite } from "./front-proxy-suite.ts"

describe("the front proxy, behind the embedded cluster", { timeout: 600_000 }, () => {
  frontProxySuite(async () => {
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
  })
})
