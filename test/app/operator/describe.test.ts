import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { describeOperator, type Description, operatorVersion } from "../../../src/app/operator/describe.ts"
import { mirrordOperators } from "../../../src/domain/resources/mirrord-operator.ts"
import { readResource } from "../../../src/domain/resources/resource-descriptor.ts"

const single: Description = {
  operatorVersion: operatorVersion("0.1.0"),
  role: { _tag: "Single" },
  namespace: "mirrord",
  fingerprint: "f",
  installation: "i",
  features: ["MultiClusterRemote"],
  status: {}
}

const primary: Description = {
  ...single,
  role: { _tag: "Primary", managementOnly: true, isDefault: false },
  features: ["MultiClusterPrimary"],
  status: {
    sessions: [{ id: "AB", duration_secs: 60, user: "ann/ann@laptop", target: "deployment/web", namespace: "default" }],
    connected_clusters: [],
    multi_cluster_sessions: []
  }
}

describe("the MirrordOperator object", () => {
  it.each([
    ["a single operator", single],
    ["a primary", primary]
  ])("of %s is exactly what the client parses", (_what, state) => {
    const read = readResource(mirrordOperators, structuredClone(describeOperator(state)))
    expect(Result.isSuccess(read) ? "" : read.failure.message).toBe("")
  })

  it("tells a client what there is, and only a management-only primary redirects branch resources", () => {
    expect(describeOperator(primary).spec).toMatchObject({
      operator_version: "3.250.0+braid.0.1.0",
      operator_namespace: "mirrord",
      supported_features: expect.arrayContaining(["ProxyApi", "MultiClusterPrimary"])
    })
    expect(describeOperator(single).spec).not.toHaveProperty("operator_namespace")
    expect(describeOperator(single).spec.supported_features).not.toContain("MultiClusterPrimary")
  })

  it("has the status that every client wants, whatever capabilities say", () => {
    expect(describeOperator(single).status).toEqual({ sessions: [], statistics: { dau: 0, mau: 0 } })
    expect(describeOperator(primary).status).toMatchObject({ ...primary.status, statistics: { dau: 0, mau: 0 } })
  })
})
