import { afterAll, beforeAll, describe } from "vitest"
import { twoServersSuite } from "../app/branches/sync/two-servers-suite.ts"
import { type ControlPlane, startControlPlane } from "./control-plane.ts"
import { describeKubernetes } from "./describe-kubernetes.ts"

describeKubernetes("branches of databases", (assets) => {
  describe("between two kube-apiservers", () => {
    let planes: ReadonlyArray<ControlPlane>
    beforeAll(async () => {
      planes = await Promise.all(["primary", "a"].map((name) => startControlPlane({ name, assets })))
    })
    afterAll(() => Promise.all(planes.map((plane) => plane.close())))

    twoServersSuite(() => {
      const [primary, member] = planes
      if (primary === undefined || member === undefined) throw new Error("two control planes are needed")
      return [primary, member]
    })
  })
})
