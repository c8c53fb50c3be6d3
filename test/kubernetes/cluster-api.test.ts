import { afterAll, beforeAll, describe } from "vitest"
import { clusterApiSuite } from "../app/fleet/cluster-api-suite.ts"
import { type ControlPlane, startControlPlane } from "./control-plane.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

describeKubernetes("Cluster API", (assets) => {
  describe("in kube-apiserver", () => {
    let plane: ControlPlane
    beforeAll(async () => {
      plane = await startControlPlane({ name: "cluster-api", assets })
    })
    afterAll(() => plane.close())

    clusterApiSuite(() => plane)
  })
})
