import { afterAll, beforeAll } from "vitest"
import { ApiClient } from "../adapters/embedded/api-client.ts"
import { customResourcesSuite } from "../compat/custom-resources.ts"
import { type ControlPlane, startControlPlane } from "./control-plane.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

describeKubernetes("custom resources on kube-apiserver", (assets) => {
  let plane: ControlPlane
  beforeAll(async () => {
    plane = await startControlPlane({ name: "custom-resources", assets })
  })
  afterAll(() => plane.close())

  customResourcesSuite("real", () => new ApiClient(plane.server, plane.caPem, plane.admin))
})
