import { afterAll, beforeAll, describe } from "vitest"
import { type RunningCluster, runCluster } from "../../lab/cluster/running-cluster.ts"
import type { ApiServer } from "./api-server.ts"
import { clusterApiSuite } from "./cluster-api-suite.ts"
import { clusterProfileSuite } from "./cluster-profile-suite.ts"

describe("in the embedded cluster", () => {
  let running: RunningCluster
  let server: ApiServer
  beforeAll(async () => {
    running = await runCluster()
    const { cluster } = running
    server = { kubeconfigPath: cluster.kubeconfigPath, apply: async (yaml) => cluster.apply(yaml) }
  })
  afterAll(() => running.close())

  describe("Cluster API", () => {
    clusterApiSuite(() => server)
  })
  describe("ClusterProfile", () => {
    clusterProfileSuite(() => server)
  })
})
