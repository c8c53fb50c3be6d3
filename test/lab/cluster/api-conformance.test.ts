import { afterAll, beforeAll, describe, it } from "vitest"
import { conformanceCases } from "../../kubernetes/conformance/conformance-cases.ts"
import { runCase } from "../../kubernetes/conformance/context.ts"
import { type RunningCluster, runCluster } from "./running-cluster.ts"

describe("embedded API server", () => {
  let running: RunningCluster
  beforeAll(async () => {
    running = await runCluster()
  })
  afterAll(() => running.close())

  for (const item of conformanceCases) {
    it(item.name, () =>
      runCase(
        {
          server: running.cluster.server,
          caPem: running.cluster.caPem,
          admin: running.adminCredentials,
          credentialsFor: running.credentialsFor,
          forgetHistory: async () => running.cluster.store.compactHistory(),
          controllers: true
        },
        item
      )
    )
  }
})
