import { afterAll, describe } from "vitest"
import { type RunningCluster, runCluster } from "../lab/cluster/running-cluster.ts"
import { type ControlPlane, startControlPlane } from "./control-plane.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"
import { describedSessions } from "./described-sessions.ts"

describeKubernetes("kubectl describe", (assets) => {
  describe("on the embedded API server", () => {
    let running: RunningCluster | undefined
    describedSessions(assets, async () => {
      running = await runCluster()
      const { cluster, credentialsFor } = running
      return {
        server: cluster.server,
        caPem: cluster.caPem,
        kubeconfigPath: cluster.kubeconfigPath,
        credentialsFor,
        apply: async (yaml) => cluster.apply(yaml)
      }
    })
    afterAll(() => running?.close())
  })
  describe("on kube-apiserver", () => {
    let plane: ControlPlane | undefined
    describedSessions(assets, async () => (plane = await startControlPlane({ name: "described", assets })))
    afterAll(() => plane?.close())
  })
})
