import { afterEach, beforeAll, expect, it } from "vitest"
import { whileCut } from "../real/disturbances.ts"
import { fleetIs } from "../real/fleet-health.ts"
import { describeReal, useKubernetesPlayground } from "../real/harness.ts"
import { serve, type ServedSession, serves, type Traffic, traffic } from "../real/served-session.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

describeKubernetes("scratch", (assets) => {
  describeReal(
    "scratch",
    ["mirrord", "layerApp"],
    (binaries) => {
      const first = 240
      const real = useKubernetesPlayground(assets, {
        topology: "management",
        ["subnet"]: first,
        sessionTtlSecs: 20,
        remoteSessionTimeoutSecs: 300
      })
      let session: ServedSession
      let requests: Traffic
      let n = 0
      beforeAll(() => fleetIs(real.playground()))
      afterEach(async () => {
        await requests.stop()
        session.app.stop()
        await fleetIs(real.playground())
      })
      it.each(["cluster-a", "cluster-b", "primary", "cluster-a", "cluster-a", "cluster-a", "primary"])(
        "%s",
        async (cluster) => {
          session = await serve(real, binaries, { user: `scratch-${n++}` })
          requests = traffic(real, session)
          const before = Date.now()
          await whileCut(real, cluster, () => Promise.resolve())
          console.log(cluster, "restarted after", Date.now() - before)
          try {
            await new Promise((resolve) => setTimeout(resolve, 20_000))
            for (const c of ["cluster-a", "cluster-b"]) await serves(real, session, c)
            console.log(cluster, "returns", session.returns())
            expect(session.app.took()).toBeUndefined()
          } finally {
            console.log(
              session
                .log()
                .split("\n")
                .filter((l) => /WARN|ERROR/.test(l))
                .slice(-12)
                .join("\n")
                .slice(0, 6000)
            )
          }
        }
      )
    },
    { timeout: 900_000 }
  )
})
