import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type RunningCluster, runCluster } from "../lab/cluster/running-cluster.ts"
import { customResourcesSuite } from "./custom-resources.ts"

describe("custom resources on the embedded API server", () => {
  let running: RunningCluster
  beforeAll(async () => {
    running = await runCluster()
  })
  afterAll(() => running.close())

  customResourcesSuite(() => running.admin)

  it("refuses a definition with a rule that it cannot evaluate", async () => {
    const definition = (rule: object) => ({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "things.example.com" },
      spec: {
        group: "example.com",
        names: { kind: "Thing", plural: "things" },
        scope: "Cluster",
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: "object", "x-kubernetes-validations": [rule] } }
          }
        ]
      }
    })
    const rules = [
      { rule: "self.spec.size > 3" },
      { rule: "self == oldSelf" },
      { rule: "other.a" },
      { rule: "[true].map(x, x)" },
      { rule: "has(self.spec" },
      { rule: "true true" },
      { rule: "true", messageExpression: "'a'" }
    ]
    for (const rule of rules) {
      const answer = await running.admin.post(
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        definition(rule)
      )
      expect([rule, answer.code]).toEqual([rule, 422])
    }
  })
})
