import { afterAll, beforeAll, describe } from "vitest"
import { type RunningCluster, runCluster } from "../adapters/embedded/running-cluster.ts"
import { customResourcesSuite } from "./custom-resources.ts"

describe("custom resources on the embedded API server", () => {
  let running: RunningCluster
  beforeAll(async () => {
    running = await runCluster()
  })
  afterAll(() => running.close())

  customResourcesSuite("embedded", () => running.admin)
})
