import { Effect, Result } from "effect"
import { describe, expect, it } from "vitest"
import type { FleetCluster } from "../../../src/app/fleet/fleet.ts"
import { describeOperator, type Description } from "../../../src/app/operator/describe.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { mirrordOperators } from "../../../src/domain/resources/mirrord-operator.ts"
import { readResource } from "../../../src/domain/resources/resource-descriptor.ts"

const now = Date.UTC(2026, 10, 21, 12)
const owner = { userId: "u", username: "ann", hostname: "laptop", k8sUsername: "ann@example" }

const cluster = (name: string, health: ReturnType<FleetCluster["health"]>, unreadableSince?: number): FleetCluster => ({
  name: clusterName(name),
  isDefault: false,
  access: () => undefined,
  children: () => undefined,
  unreadableSince: () => unreadableSince,
  health: () => health,
  reach: () => ({ reachable: true, error: undefined })
})

const single: Description = {
  version: "0.1.0",
  role: { _tag: "Single" },
  namespace: "mirrord",
  fingerprint: "f",
  installation: "i",
  sessions: [],
  multiCluster: undefined,
  now
}

const connected = {
  checkedAt: now,
  health: { _tag: "Connected", operatorVersion: "3.250.0", fingerprint: "x", parametersInHeader: true }
} as const

const primary: Description = {
  ...single,
  role: { _tag: "Primary", managementOnly: true, isDefault: false },
  sessions: [
    {
      metadata: { name: "00000000000000ab", creationTimestamp: "2026-11-21T11:59:00Z" },
      spec: {
        namespace: "default",
        owner,
        target: { apiVersion: "apps/v1", kind: "Deployment", name: "web", container: "" }
      }
    }
  ],
  multiCluster: {
    fleet: {
      checked: Effect.void,
      clusters: new Map([
        [clusterName("a"), cluster("a", connected, now - 7_999)],
        [clusterName("b"), cluster("b", { checkedAt: now, health: { _tag: "Error", message: "no answer" } })],
        [clusterName("c"), cluster("c", undefined)],
        [clusterName("d"), cluster("d", connected, now - 8_000)]
      ])
    },
    parents: [
      {
        metadata: { name: "mc-00000000000000ff", creationTimestamp: "2026-11-21T11:00:00Z" },
        spec: {
          owner,
          namespace: "default",
          target: { apiVersion: "apps/v1", kind: "Deployment", name: "web", container: "" },
          targetAlias: "deployment.web",
          clusters: ["a", "b"],
          primaryCluster: "p"
        },
        status: { phase: "Ready" }
      }
    ]
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

  it("tells a client about a primary, and only a management-only one redirects branch resources", () => {
    expect(describeOperator(primary).spec).toMatchObject({
      operator_version: "3.250.0+braid.0.1.0",
      operator_namespace: "mirrord",
      supported_features: expect.arrayContaining(["MultiClusterPrimary"])
    })
    expect(describeOperator(single).spec).not.toHaveProperty("operator_namespace")
    expect(describeOperator(single).spec.supported_features).not.toContain("MultiClusterPrimary")
  })

  it("says of each cluster either that it is connected or why not, in camelCase", () => {
    expect(describeOperator(primary).status?.connected_clusters).toEqual([
      {
        name: "a",
        lastCheck: "2026-11-21T12:00:00.000Z",
        connected: { operatorVersion: "3.250.0", licenseFingerprint: "x" }
      },
      { name: "b", lastCheck: "2026-11-21T12:00:00.000Z", error: { message: "no answer" } },
      { name: "c", lastCheck: "2026-11-21T12:00:00.000Z", error: { message: "it has not been checked yet" } },
      // Its operator answers, but the API server does not let its sessions be read: they are refused.
      { name: "d", lastCheck: "2026-11-21T12:00:00.000Z", error: { message: "its sessions cannot be read" } }
    ])
  })

  it("lists sessions under the ids that the client itself shows", () => {
    const { status } = describeOperator(primary)
    expect(status?.sessions).toMatchObject([
      { id: "AB", duration_secs: 60, user: "ann/ann@example@laptop", target: "deployment/web" }
    ])
    expect(status?.multi_cluster_sessions).toMatchObject([
      { id: "mc-00000000000000ff", durationSecs: 3600, target: "deployment/web", phase: "Ready" }
    ])
  })
})
