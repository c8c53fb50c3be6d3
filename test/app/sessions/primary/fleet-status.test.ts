import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import type { FleetCluster } from "../../../../src/app/fleet/fleet-cluster.ts"
import type { Reflector } from "../../../../src/app/kernel/reflector.ts"
import { connectedClusters, fleetConditions, fleetObjects } from "../../../../src/app/sessions/primary/fleet-status.ts"
import { clusterName } from "../../../../src/domain/fleet/cluster-name.ts"
import { KubeError } from "../../../../src/ports/kube-api.ts"
import { configurationOf } from "../../../support/fleet.ts"

const now = Date.UTC(2026, 10, 21, 12)

const cluster = (name: string, health: ReturnType<FleetCluster["health"]>, unreadableSince?: number): FleetCluster => ({
  name: clusterName(name),
  isDefault: false,
  access: () => undefined,
  children: () => undefined,
  seenChildren: () => [],
  unreadableSince: () => unreadableSince,
  health: () => health,
  branchFeatures: () => undefined,
  reach: () => ({ reachable: true, error: undefined }),
  credentials: () => undefined,
  since: () => 0,
  ending: () => undefined
})

const connected = {
  checkedAt: now - 3_000,
  health: { _tag: "Connected", operatorVersion: "3.250.0", fingerprint: "x", parametersInHeader: true }
} as const

describe("the clusters of a fleet in the operator's status", () => {
  it("are either connected or say why not, in camelCase", () => {
    const clusters = new Map([
      [clusterName("a"), cluster("a", connected, now - 7_999)],
      [clusterName("b"), cluster("b", { checkedAt: now - 61_000, health: { _tag: "Error", message: "no answer" } })],
      [clusterName("c"), cluster("c", undefined)],
      [clusterName("d"), cluster("d", { ...connected, checkedAt: now }, now - 8_000)]
    ])
    expect(connectedClusters({ clusters, checked: Effect.void }, now)).toEqual([
      {
        name: "a",
        lastCheck: "2026-11-21T11:59:57.000Z",
        connected: { operatorVersion: "3.250.0", licenseFingerprint: "x" }
      },
      { name: "b", lastCheck: "2026-11-21T11:58:59.000Z", error: { message: "no answer" } },
      { name: "c", lastCheck: "2026-11-21T12:00:00.000Z", error: { message: "it has not been checked yet" } },
      // Its operator answers, but the API server does not let its sessions be read: they are refused.
      { name: "d", lastCheck: "2026-11-21T12:00:00.000Z", error: { message: "its sessions cannot be read" } }
    ])
  })
})

describe("the clusters of a fleet as objects", () => {
  const parent = (phase: "Ready" | "Failed" | "Terminating", ...clusters: ReadonlyArray<string>) => ({
    metadata: { name: "mc-1" },
    spec: {
      owner: { k8sUsername: "u", userId: "u", username: "u", hostname: "h" },
      namespace: "default",
      targetAlias: "deployment.a",
      clusters,
      primaryCluster: "a"
    },
    status: {
      phase,
      clusterSessions: Object.fromEntries(
        clusters.map((name) => [
          name,
          { sessionName: `mc-1-${name}`, ready: true, ...(name === "d" ? { error: "left out" } : {}) }
        ])
      )
    }
  })

  it("say whether sessions take them in, since when, how they are reached, and how many sessions run there", () => {
    const lost = { reachable: false, error: "no answer" }
    const all: ReadonlyArray<FleetCluster> = [
      { ...cluster("a", connected, now - 7_999), isDefault: true, since: () => now - 60_000 },
      { ...cluster("b", undefined), reach: () => ({ ...lost, askedAt: now }) },
      {
        ...cluster("c", undefined),
        reach: () => lost,
        credentials: () => ({ auth: "mtls", until: now, failures: 0 }),
        tunnelSince: () => now - 1_000
      },
      { ...cluster("d", connected, now - 9_000) },
      { ...cluster("e", undefined), reach: () => ({ reachable: true, error: undefined, isConnecting: true }) },
      {
        ...cluster("f", { checkedAt: now, health: { _tag: "Error", message: "may not get", lacksRight: true } }),
        reach: () => ({ ...lost, askedAt: now })
      },
      {
        ...cluster("g", undefined),
        reach: () => ({ ...lost, askedAt: now, error: "it refuses the primary's credentials (401); braid doctor" })
      }
    ]
    const clusters = new Map(all.map((one) => [one.name, one]))
    const parents = [
      parent("Ready", "a", "d"),
      parent("Ready", "a"),
      parent("Failed", "b"),
      parent("Terminating", "a", "b")
    ]
    const objects = fleetObjects({ clusters, checked: Effect.void }, clusterName("a"), parents, now)
    const told = objects.map(({ metadata, spec, status }) => {
      const [ready] = status.conditions
      return [metadata.name, spec.roles.join(), spec.authType, ready?.status, ready?.reason, status.sessions]
    })
    expect(told).toEqual([
      ["a", "Primary,Default", undefined, "True", "Connected", 2],
      ["b", "", undefined, "False", "Lost", 0],
      ["c", "", "mtls", "False", "NotUsable", 0],
      ["d", "", undefined, "False", "SessionsUnreadable", 0],
      ["e", "", undefined, "Unknown", "Connecting", 0],
      ["f", "", undefined, "False", "RightMissing", 0],
      ["g", "", undefined, "False", "CredentialsRefused", 0]
    ])
    expect(objects.map(({ status }) => status.conditions[0]?.lastTransitionTime).slice(0, 4)).toEqual([
      "2026-11-21T11:59:00.000Z",
      "1970-01-01T00:00:00.000Z",
      "1970-01-01T00:00:00.000Z",
      // When the grace of its silence was over.
      "2026-11-21T11:59:59.000Z"
    ])
    expect(objects[2]?.status.credentialsExpireAt).toBe("2026-11-21T12:00:00.000Z")
    expect(objects.map(({ status }) => status.tunnelSince).slice(1, 4)).toEqual([
      undefined,
      "2026-11-21T11:59:59.000Z",
      undefined
    ])
  })
})

describe("a cluster whose sessions cannot be read", () => {
  it("says which right is missing there, and what to do", () => {
    const detail = 'mirrordclustersessions is forbidden: User "u" cannot list resource "mirrordclustersessions"'
    const problem = new KubeError({ cluster: "a", operation: "list", reason: "Forbidden", detail })
    const children = { problem: () => problem } as unknown as Reflector
    const clusters = new Map([
      [clusterName("a"), { ...cluster("a", connected, now - 9_000), children: () => children }]
    ])
    const fleet = { clusters, checked: Effect.void }
    const message = `its sessions cannot be read: ${detail}; upgrade the chart there, whose roles have this right`
    expect(connectedClusters(fleet, now)).toMatchObject([{ error: { message } }])
    const [object] = fleetObjects(fleet, clusterName("p"), [], now)
    expect(object?.status.conditions[0]).toMatchObject({ reason: "RightMissing", status: "False", message })
  })
})

describe("the conditions of a primary", () => {
  const source = {
    known: () => configurationOf([]),
    verdict: () => ({ since: 0, problems: [] }),
    listen: () => () => {}
  }
  const day = 86_400_000
  const ending =
    (until: number): FleetCluster["ending"] =>
    () => ({ what: "the certificate", validity: { from: 0, until }, cure: "make another" })
  const conditions = (until: number) =>
    fleetConditions(
      source,
      {
        clusters: new Map([[clusterName("a"), { ...cluster("a", connected), ending: ending(until) }]]),
        checked: Effect.void
      },
      now
    )

  it("tell of credentials that end soon, since when and what to do, and else say nothing of them", () => {
    expect(conditions(now + 31 * day).map(({ type }) => type)).toEqual(["ConfigurationInUse"])
    expect(conditions(now + 2 * day)[1]).toEqual({
      type: "CredentialsLast",
      status: "False",
      reason: "EndsSoon",
      message: "Cluster a: the certificate ends in 2d, at 2026-11-23 12:00 UTC; make another.",
      lastTransitionTime: "2026-10-24T12:00:00.000Z"
    })
  })
})
