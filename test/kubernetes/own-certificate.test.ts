import { describe } from "vitest"
import { ownCertificateSuite } from "../app/certificates/own-certificate-suite.ts"
import { startControlPlane } from "./control-plane.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

describeKubernetes("the operator's own certificate, behind kube-apiserver", (assets) => {
  describe("which checks it", () => {
    ownCertificateSuite(async () => {
      const plane = await startControlPlane({ name: "own-certificate", assets })
      return { cluster: plane, close: plane.close }
    })
  })
})
