import { describe } from "vitest"
import { aggregationSuite, clusterIp } from "./aggregation-suite.ts"
import { startControlPlane } from "./control-plane.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

describeKubernetes("the aggregation layer of kube-apiserver", (assets) => {
  describe("dials the Service's address", () => {
    aggregationSuite(async () => {
      const plane = await startControlPlane({ name: "aggregation", assets })
      // No dial reaches the pod: there is no kube-proxy, and the backend listens at the Service's address.
      return { cluster: { ...plane, host: clusterIp, podIp: "10.1.0.9" }, close: plane.close }
    })
  })
})
