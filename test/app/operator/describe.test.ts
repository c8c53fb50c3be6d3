import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { describeOperator, type Description, operatorVersion } from "../../../src/app/operator/describe.ts"
import { mirrordOperators } from "../../../src/domain/resources/mirrord-operator.ts"
import { readResource } from "../../../src/domain/resources/resource-descriptor.ts"

const session = {
  id: "AB",
  duration_secs: 60,
  user: "ann/ann@laptop",
  target: "deployment/web",
  namespace: "default",
  locked_ports: [{ port: 80, kind: "steal" }],
  key: "abc12"
}

const single: Description = {
  operatorVersion: operatorVersion("0.1.0"),
  role: { _tag: "Single" },
  isMember: false,
  namespace: "mirrord",
  fingerprint: "f",
  installation: "i",
  features: ["MultiClusterRemote"],
  sessions: [],
  statistics: { dau: 0, mau: 0, active_ci_sessions_count: 0 },
  status: {}
}

const primary: Description = {
  ...single,
  role: { _tag: "Primary", managementOnly: true, isDefault: false },
  features: ["MultiClusterPrimary"],
  sessions: [session],
  statistics: { dau: 2, mau: 7, active_ci_sessions_count: 1 },
  status: { connected_clusters: [], multi_cluster_sessions: [] }
}

const inTrouble: Description = {
  ...primary,
  status: {
    connected_clusters: [
      {
        name: "a",
        lastCheck: "2026-11-21T11:59:57.000Z",
        connected: { operatorVersion: "3.250.0", licenseFingerprint: "x" }
      },
      { name: "b", lastCheck: "2026-11-21T11:59:57.000Z", error: { message: "no answer" } }
    ],
    multi_cluster_sessions: [
      {
        id: "mc-00000000000000ab",
        durationSecs: 60,
        user: session.user,
        target: session.target,
        namespace: "default",
        clusters: ["a", "b"],
        phase: "Ready"
      }
    ]
  }
}

describe("the MirrordOperator object", () => {
  it.each([
    ["a single operator", single],
    ["a primary", primary],
    ["a primary of which one cluster fails", inTrouble]
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
    const withWorkloads = { ...primary, role: { _tag: "Primary", managementOnly: false, isDefault: true } } as const
    for (const state of [single, withWorkloads]) {
      expect(describeOperator(state).spec).not.toHaveProperty("operator_namespace")
    }
    expect(describeOperator(single).spec.supported_features).not.toContain("MultiClusterPrimary")
    expect(describeOperator(single).spec).not.toHaveProperty("multi_cluster_member")
    expect(describeOperator({ ...single, isMember: true }).spec).toHaveProperty("multi_cluster_member", true)
  })

  it("has the sessions and statistics that every client wants, and what capabilities add", () => {
    expect(describeOperator(single).status).toEqual({
      sessions: [],
      statistics: { dau: 0, mau: 0, active_ci_sessions_count: 0 }
    })
    expect(describeOperator(primary).status).toEqual({
      sessions: [session],
      statistics: { dau: 2, mau: 7, active_ci_sessions_count: 1 },
      connected_clusters: [],
      multi_cluster_sessions: []
    })
  })
})
