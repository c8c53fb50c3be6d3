import { describe, expect, it } from "vitest"
import type { MirrordClusterSession } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import type { MirrordMultiClusterSession } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { seenChild, seenParent } from "../../../src/domain/usage/seen-session.ts"

const owner = { userId: "key-1", username: "jane", hostname: "laptop", k8sUsername: "jane@example.com" }
const target = { apiVersion: "apps/v1", kind: "Deployment", name: "web", container: "main" }

const parent: MirrordMultiClusterSession = {
  metadata: { name: "mc-00000000000000ab", creationTimestamp: "2026-11-29T08:00:00Z" },
  spec: {
    owner,
    namespace: "shop",
    target,
    targetAlias: "deployment.web.container.main",
    clusters: ["b", "a", "c"],
    primaryCluster: "main",
    defaultCluster: "a",
    ciInfo: { provider: "github", pipeline: "test" }
  },
  status: {
    connectedTimestamp: "2026-11-29T08:05:00Z",
    clusterSessions: {
      b: { sessionName: "mc-00000000000000ab-b", ready: true },
      c: { sessionName: "mc-00000000000000ab-c", ready: false, error: "lost" }
    }
  }
}

const child: MirrordClusterSession = {
  metadata: { name: "00000000000000ab", creationTimestamp: "2026-11-29T08:00:00Z" },
  spec: { owner, namespace: "shop", target }
}

describe("the record of a session", () => {
  it("is the parent's, with the clusters that take part", () => {
    expect(seenParent(parent)).toEqual({
      id: "AB",
      kind: "ci",
      machineId: "key-1",
      kubernetesUser: "jane@example.com",
      clientUser: "jane",
      clientHost: "laptop",
      clusters: ["a", "b"],
      namespace: "shop",
      target: "deployment/web",
      container: "main",
      ciProvider: "github",
      ciPipeline: "test",
      startedAt: Date.parse("2026-11-29T08:00:00Z"),
      lastSeenAt: Date.parse("2026-11-29T08:05:00Z"),
      stoppedAt: undefined
    })
  })

  it("has the default alone until another cluster is ready: it may be left out", () => {
    const clusterSessions = { b: { sessionName: "mc-00000000000000ab-b", ready: false } }
    for (const status of [undefined, {}, { clusterSessions }])
      expect(seenParent({ ...parent, status } as MirrordMultiClusterSession)?.clusters).toEqual(["a"])
  })

  it("is made once for an object", () => {
    expect(seenParent(parent)).toBe(seenParent(parent))
    expect(seenChild(child)).toBe(seenChild(child))
  })

  it("ends when its object is deleted", () => {
    const metadata = { ...parent.metadata, deletionTimestamp: "2026-11-29T09:00:00Z" }
    expect(seenParent({ ...parent, metadata })?.stoppedAt).toBe(Date.parse("2026-11-29T09:00:00Z"))
  })

  it("is a user's own in one cluster, and never that of a child", () => {
    expect(seenChild(child)).toMatchObject({ id: "AB", kind: "exec", clusters: [] })
    const spec = { ...child.spec, multiClusterParentName: "mc-00000000000000ab" }
    expect(seenChild({ ...child, spec })).toBeUndefined()
  })
})
