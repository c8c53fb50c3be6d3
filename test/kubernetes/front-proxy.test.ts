import { describe } from "vitest"
import { frontProxySuite } from "../app/certificates/front-proxy-suite.ts"
import { startControlPlane } from "./control-plane.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

describeKubernetes("the front proxy, behind kube-apiserver", (assets) => {
  describe("with every way past it", () => {
    frontProxySuite(async () => {
      const plane = await startControlPlane({ name: "front-proxy", assets })
      return { cluster: plane, close: plane.close }
    })
  })
})
