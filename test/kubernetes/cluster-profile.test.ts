import { afterAll, beforeAll, describe } from "vitest"
import { clusterProfileSuite } from "../app/fleet/cluster-profile-suite.ts"
import { type ControlPlane, startControlPlane } from "./control-plane.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

describeKubernetes("ClusterProfile", (assets) => {
  describe("in kube-apiserver", () => {
    let plane: ControlPlane
    beforeAll(async () => {
      plane = await startControlPlane({ name: "cluster-profile", assets })
    })
    afterAll(() => plane.close())

    clusterProfileSuite(() => plane)
  })
})
