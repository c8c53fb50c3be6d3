import { afterAll, beforeAll, expect, it } from "vitest"
import { ApiClient } from "../adapters/embedded/api-client.ts"
import { type RunningCluster, runCluster } from "../adapters/embedded/running-cluster.ts"
import { customResourcesSuite, refusals } from "../compat/custom-resources.ts"
import { type ControlPlane, startControlPlane } from "./control-plane.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

describeKubernetes("custom resources on kube-apiserver", (assets) => {
  let plane: ControlPlane
  let embedded: RunningCluster
  const client = (): ApiClient => new ApiClient(plane.server, plane.caPem, plane.admin)
  beforeAll(async () => {
    plane = await startControlPlane({ name: "custom-resources", assets })
    embedded = await runCluster()
  })
  afterAll(async () => {
    await embedded.close()
    await plane.close()
  })

  customResourcesSuite(client)

  it("are refused in the same words by the embedded API server", async () => {
    expect(await refusals(embedded.admin)).toEqual(await refusals(client()))
  })
})
