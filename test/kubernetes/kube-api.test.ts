import { afterAll, beforeAll } from "vitest"
import { ephemeralAgentsSuite } from "../adapters/agents/ephemeral-agents-suite.ts"
import { connectKubeApi } from "../adapters/kubernetes/kube-api-server.ts"
import { type KubeApiServer, kubeApiSuite } from "../adapters/kubernetes/kube-api-suite.ts"
import { type ControlPlane, startControlPlane } from "./control-plane.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

describeKubernetes("KubeApi over HTTP, against kube-apiserver", (assets) => {
  let plane: ControlPlane
  let connected: { readonly server: KubeApiServer; readonly close: () => Promise<void> }
  beforeAll(async () => {
    plane = await startControlPlane({ name: "kube-api", assets })
    connected = await connectKubeApi({ ...plane, forget: plane.forgetHistory })
  })
  afterAll(async () => {
    await connected.close()
    await plane.close()
  })

  kubeApiSuite(() => connected.server)
  ephemeralAgentsSuite(() => connected.server.admin)
})
