import { afterAll, beforeAll, describe } from "vitest"
import { connectKubeApi } from "../adapters/kubernetes/kube-api-server.ts"
import { type ReflectedCluster, reflectorSuite } from "../app/kernel/reflector-suite.ts"
import { type ControlPlane, startControlPlane } from "./control-plane.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

describeKubernetes("a reflector over HTTP, against kube-apiserver", (assets) => {
  let plane: ControlPlane
  let close: () => Promise<void>
  let reflected: ReflectedCluster
  beforeAll(async () => {
    plane = await startControlPlane({ name: "reflector", assets })
    const connected = await connectKubeApi({ ...plane, forget: plane.forgetHistory })
    close = connected.close
    reflected = { ...plane, ...connected.server }
  })
  afterAll(async () => {
    await close()
    await plane.close()
  })

  describe("with every trouble", () => {
    reflectorSuite(() => reflected)
  })
})
