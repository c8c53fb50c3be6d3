import { expect, it } from "vitest"
import { operatorOverview, overviewLines } from "../../../../src/domain/commands/overview/operator-overview.ts"
import { versionLines, versionOverview } from "../../../../src/domain/commands/overview/version-overview.ts"
import { protocolVersion } from "../../../../src/domain/protocol/version.ts"
import type { MirrordOperator } from "../../../../src/domain/resources/mirrord-operator.ts"

const now = Date.UTC(2026, 10, 22, 1)
const session = { duration_secs: 5, user: "ann", target: "deployment/shop" }
const operator: MirrordOperator = {
  metadata: { name: "operator" },
  spec: {
    operator_version: "3.250.0+braid.0.1.0",
    default_namespace: "default",
    supported_features: ["ProxyApi", "MultiClusterPrimary"],
    protocol_version: "1.29.0",
    license: { name: "braid", organization: "braid", expire_at: "9999-12-31" }
  },
  status: {
    sessions: [session],
    connected_clusters: [
      {
        name: "b",
        lastCheck: new Date(now - 65_000).toISOString(),
        error: { message: "its operator did not answer in time" }
      },
      {
        name: "a",
        lastCheck: new Date(now - 2_000).toISOString(),
        connected: { operatorVersion: "3.250.0+braid.0.1.0" }
      }
    ],
    multi_cluster_sessions: [
      {
        id: "mc-1",
        durationSecs: 5,
        user: "ann",
        target: "deployment/shop",
        namespace: "default",
        clusters: ["a"],
        phase: "Ready"
      }
    ]
  }
}

it("tells of a primary and of its clusters, by name", () => {
  expect(overviewLines(operatorOverview(operator), now)).toEqual([
    "OPERATOR              PROTOCOL   PART      SESSIONS",
    "3.250.0+braid.0.1.0   1.29.0     primary   2",
    "",
    "CLUSTER   STATE       OPERATOR              CHECKED    REASON",
    "a         connected   3.250.0+braid.0.1.0   2s ago     -",
    "b         error       -                     1m5s ago   its operator did not answer in time"
  ])
})

it("tells of one cluster's operator alone, whatever it leaves out", () => {
  const { metadata, spec } = operator
  const { protocol_version: _, supported_features: __, ...least } = spec
  expect(overviewLines(operatorOverview({ metadata, spec: least }), now)).toEqual([
    "OPERATOR              PROTOCOL   PART          SESSIONS",
    "3.250.0+braid.0.1.0   -          one cluster   0"
  ])
})

it("tells the versions of this program and of all operators", () => {
  expect(versionLines(versionOverview("0.2.0", operatorOverview(operator)))).toEqual([
    "PROGRAM         VERSION               PROTOCOL",
    `braid           0.2.0                 ${protocolVersion}`,
    "operator        3.250.0+braid.0.1.0   1.29.0",
    "operator of a   3.250.0+braid.0.1.0   -",
    "operator of b   unknown               -"
  ])
})

it("calls a member so, also before it has served a primary, and a primary that is one a primary", () => {
  const part = (supported_features: ReadonlyArray<string>, multi_cluster_member?: boolean | null) => {
    const spec = {
      ...operator.spec,
      supported_features,
      ...(multi_cluster_member === undefined ? {} : { multi_cluster_member })
    }
    return overviewLines(operatorOverview({ ...operator, spec }), now)[1]?.split(/ {2,}/u)[2]
  }
  expect([part([], true), part([], null), part([]), part(["MultiClusterPrimary"], true)]).toEqual([
    "member",
    "one cluster",
    "one cluster",
    "primary"
  ])
})

it("tells why a changed configuration is not used", () => {
  const condition = { type: "ConfigurationInUse", reason: "Refused", lastTransitionTime: new Date(now).toISOString() }
  const message = "clusters-config.yaml: it is no YAML (found a tab); correct it."
  const told = (status: "True" | "False") => {
    const conditions = [{ ...condition, status, message }]
    return overviewLines(operatorOverview({ ...operator, status: { sessions: [], conditions } }), now).at(-1)
  }
  expect(told("False")).toBe(`The changed configuration is not used, the last good one stays: ${message}`)
  expect(told("True")).toContain("CLUSTER")
})
