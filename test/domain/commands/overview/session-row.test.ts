import fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  childRow,
  parentRow,
  publishedChildRow,
  publishedParentRow,
  sessionCells,
  sessionHeader,
  type SessionRow,
  sessionRows
} from "../../../../src/domain/commands/overview/session-row.ts"
import type { MirrordClusterSession } from "../../../../src/domain/resources/mirrord-cluster-session.ts"
import type { MirrordMultiClusterSession } from "../../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { multiClusterSessionInfo } from "../../../../src/domain/sessions/session-info.ts"

const created = "2026-11-22T01:00:00Z"
const now = Date.parse(created) + 180_000
const owner = { userId: "u", username: "ann", hostname: "laptop", k8sUsername: "ann@example.com" }
const target = { apiVersion: "apps/v1", kind: "Deployment", name: "shop", container: "" }
const condition = (status: "True" | "False", message: string) => ({
  type: "Ready",
  status,
  reason: "R",
  message,
  lastTransitionTime: created
})

const parent = (
  status: MirrordMultiClusterSession["status"],
  metadata: Partial<MirrordMultiClusterSession["metadata"]> = {}
): MirrordMultiClusterSession => ({
  metadata: { name: "mc-00000000000000ff", creationTimestamp: created, ...metadata },
  spec: {
    owner,
    namespace: "default",
    target,
    targetAlias: "deployment.shop",
    clusters: ["a", "b"],
    primaryCluster: "primary"
  },
  ...(status === undefined ? {} : { status })
})
const child = (
  status: MirrordClusterSession["status"],
  spec: Partial<MirrordClusterSession["spec"]> = {}
): MirrordClusterSession => ({
  metadata: { name: "00000000000000ff", creationTimestamp: created },
  spec: { owner: { ...owner, username: "ann@example.com" }, namespace: "default", target, ...spec },
  ...(status === undefined ? {} : { status })
})
const cells = (row: SessionRow) =>
  Object.fromEntries(sessionHeader.map((name, index) => [name, sessionCells(row, now)[index]]))

describe("a session over many clusters", () => {
  it("that is ready in one and left out in another", () => {
    const row = parentRow(
      parent({
        phase: "Ready",
        clusterSessions: {
          a: { sessionName: "x-a", ready: true },
          b: { sessionName: "x-b", ready: false, error: "no such deployment" }
        },
        conditions: [condition("True", "fine")]
      })
    )
    expect(cells(row)).toEqual({
      NAME: "mc-00000000000000ff",
      PHASE: "Ready",
      NAMESPACE: "default",
      TARGET: "deployment/shop",
      USER: "ann (ann@example.com)",
      CLUSTERS: "1/2",
      AGE: "3m",
      REASON: "b: no such deployment"
    })
  })

  it.each([
    ["nothing is known of yet", parent(undefined), { PHASE: "Initializing", CLUSTERS: "0/2", REASON: "" }],
    [
      "failed",
      parent({
        phase: "Failed",
        closed: "Cluster a has no deployment shop.",
        conditions: [condition("False", "not ready")]
      }),
      { PHASE: "Failed", REASON: "Cluster a has no deployment shop." }
    ],
    [
      "lost its default cluster",
      parent({ phase: "Ready", conditions: [condition("False", "The default cluster is lost.")] }),
      { PHASE: "Ready", REASON: "The default cluster is lost." }
    ],
    ["is being deleted", parent({ phase: "Ready" }, { deletionTimestamp: created }), { PHASE: "Terminating" }],
    [
      "names a kind that is no target",
      { ...parent(undefined), spec: { ...parent(undefined).spec, target: { ...target, kind: "Oven" } } },
      { TARGET: "deployment.shop" }
    ]
  ])("that %s", (_, object, expected) => expect(cells(parentRow(object))).toMatchObject(expected))

  it("of which the operator tells", () => {
    const info = {
      id: "mc-1",
      durationSecs: 65,
      user: "ann/ann@laptop",
      target: "deployment/shop",
      namespace: "default",
      clusters: ["a", "b"],
      phase: "Ready"
    }
    expect(cells(publishedParentRow(info, now))).toMatchObject({
      NAME: "mc-1",
      CLUSTERS: "?/2",
      AGE: "1m5s",
      USER: "ann/ann@laptop",
      REASON: ""
    })
  })

  it("of which the operator tells is the row that its object makes", () => {
    const parts = {
      a: { sessionName: "x", ready: true },
      b: { sessionName: "y", ready: false, error: "no such thing" }
    }
    for (const status of [
      undefined,
      { phase: "Ready", clusterSessions: parts, conditions: [condition("True", "")] },
      { phase: "Ready", clusterSessions: parts, conditions: [condition("False", "The default cluster is lost.")] },
      { phase: "Failed", clusterSessions: parts, closed: "It failed." }
    ] as const) {
      const { createdAt, user, ...row } = publishedParentRow(multiClusterSessionInfo(parent(status), now), now)
      expect([createdAt, user]).toEqual([Date.parse(created), "ann/ann@example.com@laptop"])
      expect(parentRow(parent(status))).toMatchObject(row)
    }
  })
})

describe("a session in one cluster", () => {
  it.each([
    ["is new", child(undefined), { PHASE: "Pending", USER: "ann@example.com", CLUSTERS: "", REASON: "" }],
    [
      "waits",
      child({ conditions: [condition("False", "No pod is ready.")] }),
      { PHASE: "Pending", REASON: "No pod is ready." }
    ],
    ["is ready", child({ conditions: [condition("True", "")] }), { PHASE: "Ready", REASON: "" }],
    ["is closed", child({ closed: { reason: "Timeout" }, conditions: null }), { PHASE: "Closed", REASON: "Timeout" }],
    [
      "is closed with a sentence",
      child({ closed: { reason: "Timeout", message: "Nobody came." } }),
      { PHASE: "Closed", REASON: "Nobody came." }
    ],
    ["has no target", child(undefined, { target: null }), { TARGET: "targetless" }]
  ] as const)("that %s", (_, object, expected) => expect(cells(childRow(object))).toMatchObject(expected))
})

describe("a session in one cluster of which the operator tells", () => {
  it("has the name of its object, and no phase that it knows", () => {
    const info = {
      id: "FF",
      duration_secs: 65,
      user: "ann/ann@laptop",
      target: "deployment/shop",
      namespace: "default"
    }
    expect(cells(publishedChildRow(info, now))).toMatchObject({
      NAME: "00000000000000ff",
      PHASE: "Unknown",
      NAMESPACE: "default",
      CLUSTERS: "",
      AGE: "1m5s",
      USER: "ann/ann@laptop",
      REASON: ""
    })
  })
})

describe("many sessions", () => {
  const row = fc
    .record({
      name: fc.constantFrom("a", "b", "c"),
      parent: fc.constantFrom(undefined, "a", "b", "z"),
      createdAt: fc.option(fc.nat(5), { nil: undefined })
    })
    .map((some): SessionRow => ({
      kind: "MirrordClusterSession",
      phase: "Ready",
      namespace: "n",
      target: "t",
      user: "u",
      clusters: [],
      reason: undefined,
      ...some
    }))

  it("are told oldest first, each once: children only where their parent is not told", () => {
    fc.assert(
      fc.property(fc.uniqueArray(row, { selector: ({ name }) => name }), fc.array(row), (parents, children) => {
        const rows = sessionRows(parents, children)
        const told = new Set(parents.map(({ name }) => name))
        for (const one of parents) expect(rows).toContain(one)
        for (const one of children) expect(rows.includes(one)).toBe(one.parent === undefined || !told.has(one.parent))
        const ages = rows.map(({ createdAt }) => createdAt ?? 0)
        expect(ages).toEqual(ages.toSorted((a, b) => a - b))
      })
    )
  })
})
