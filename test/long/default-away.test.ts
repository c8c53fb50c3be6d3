/** mirrord's own client while its default cluster is away for two minutes, as long as the bound of the chart allows. */

import { afterAll, beforeAll, expect, it } from "vitest"
import { subnetOf } from "../address-plan.ts"
import { whileNoticedCut } from "../real/disturbances.ts"
import { fleetIs } from "../real/fleet-health.ts"
import { describeReal, usePlayground } from "../real/harness.ts"
import { comesBack, serve, type ServedSession, serves, type Traffic, traffic } from "../real/served-session.ts"

const awayMs = 120_000

describeReal(
  "the real client whose default cluster is away for long",
  ["mirrord", "layerApp"],
  (binaries) => {
    const real = usePlayground({
      topology: "management",
      subnet: subnetOf("real client, two minutes"),
      sessionTtlSecs: 20,
      remoteSessionTimeoutSecs: 300
    })
    let session: ServedSession
    let requests: Traffic
    beforeAll(async () => {
      await fleetIs(real.playground())
      session = await serve(real, binaries, { user: "patient" })
      requests = traffic(real, session)
    })
    afterAll(async () => {
      await requests.stop()
      session.app.stop()
    })

    it("the default cluster is cut off for two minutes: the client waits, and comes back", async () => {
      await whileNoticedCut(real, "cluster-a", () => new Promise<void>((resolve) => setTimeout(resolve, awayMs)))
      await comesBack(session, 0)
      for (const cluster of ["cluster-a", "cluster-b"]) await serves(real, session, cluster)
      for (const cluster of ["cluster-a", "cluster-b"]) expect(requests.answers(cluster)).toContain("workload")
    })
  },
  { timeout: 900_000 }
)
