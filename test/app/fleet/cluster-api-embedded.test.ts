import { afterAll, beforeAll, describe } from "vitest"
import { type RunningCluster, runCluster } from "../../lab/cluster/running-cluster.ts"
import { type ClusterApiServer, clusterApiSuite } from "./cluster-api-suite.ts"

describe("Cluster API in the embedded cluster", () => {
  let running: RunningCluster
  let server: ClusterApiServer
  beforeAll(async () => {
    running = await runCluster()
    const { cluster } = running
    server = { kubeconfigPath: cluster.kubeconfigPath, apply: async (yaml) => cluster.apply(yaml) }
  })
  afterAll(() => running.close())

  clusterApiSuite(() => server)
})
