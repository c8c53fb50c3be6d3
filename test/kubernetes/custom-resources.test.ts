import { afterAll, beforeAll, expect, it } from "vitest"
import { kubernetesVersion } from "../../lab/cluster/wire/kubernetes-version.ts"
import { customResourcesSuite, refusals } from "../compat/custom-resources.ts"
import { ApiClient } from "../lab/cluster/api-client.ts"
import { type RunningCluster, runCluster } from "../lab/cluster/running-cluster.ts"
import { type ControlPlane, startControlPlane } from "./control-plane.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

const refusedIn = (causes: Readonly<Record<string, ReadonlyArray<string>>>): ReadonlyArray<string> =>
  Object.keys(causes).filter((sample) => causes[sample]?.length !== 0)

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

  it("are refused by the embedded API server too, in the same words if both are of one version", async () => {
    const { body } = await client().get("/version")
    const [ours, theirs] = [await refusals(embedded.admin), await refusals(client())]
    if (body["gitVersion"] === `v${kubernetesVersion}`) expect(ours).toEqual(theirs)
    else expect(refusedIn(ours)).toEqual(refusedIn(theirs))
  })
})
