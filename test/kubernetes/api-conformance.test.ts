import { afterAll, beforeAll, it } from "vitest"
import { conformanceCases } from "./conformance/conformance-cases.ts"
import { runCase } from "./conformance/context.ts"
import { type ControlPlane, startControlPlane } from "./control-plane.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

describeKubernetes("kube-apiserver", (assets) => {
  let plane: ControlPlane
  beforeAll(async () => {
    plane = await startControlPlane({ name: "conformance", assets })
  })
  afterAll(() => plane.close())

  for (const item of conformanceCases) it(item.name, () => runCase({ ...plane, controllers: true }, item))
})
