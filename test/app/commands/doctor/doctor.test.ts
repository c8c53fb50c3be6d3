import { afterAll, beforeAll, describe } from "vitest"
import { type RunningCluster, runCluster } from "../../../lab/cluster/running-cluster.ts"
import { doctorSuite } from "./doctor-suite.ts"

describe("with the embedded cluster", () => {
  let running: RunningCluster
  beforeAll(async () => {
    running = await runCluster()
  })
  afterAll(() => running.close())

  doctorSuite(() => ({
    server: running.cluster.server,
    caPem: running.cluster.caPem,
    kubeconfigPath: running.cluster.kubeconfigPath,
    admin: running.adminCredentials,
    apply: async (yaml) => running.cluster.apply(yaml),
    tokenOf: async (namespace, name) => running.cluster.serviceAccountToken(namespace, name, 86_400),
    expiredTokenOf: async (namespace, name) => running.cluster.serviceAccountToken(namespace, name, -3_600)
  }))
})
