import { afterAll, beforeAll, describe } from "vitest"
import { type RunningCluster, runCluster } from "../../../lab/cluster/running-cluster.ts"
import type { ApiServer } from "../../fleet/api-server.ts"
import { twoServersSuite } from "./two-servers-suite.ts"

describe("branches between two embedded clusters", () => {
  let running: ReadonlyArray<RunningCluster>
  const serverOf = ({ cluster }: RunningCluster): ApiServer => ({
    kubeconfigPath: cluster.kubeconfigPath,
    apply: async (yaml) => cluster.apply(yaml)
  })
  beforeAll(async () => {
    running = await Promise.all([runCluster(), runCluster()])
  })
  afterAll(() => Promise.all(running.map((cluster) => cluster.close())))

  twoServersSuite(() => {
    const [primary, member] = running
    if (primary === undefined || member === undefined) throw new Error("two clusters are needed")
    return [serverOf(primary), serverOf(member)]
  })
})
