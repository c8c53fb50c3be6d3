import { afterAll, beforeAll } from "vitest"
import { doctorSuite } from "../app/commands/doctor/doctor-suite.ts"
import { type ControlPlane, startControlPlane } from "./control-plane.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

describeKubernetes("with kube-apiserver", (assets) => {
  let plane: ControlPlane
  beforeAll(async () => {
    plane = await startControlPlane({ name: "doctor", assets })
  })
  afterAll(() => plane.close())

  doctorSuite(() => plane)
})
