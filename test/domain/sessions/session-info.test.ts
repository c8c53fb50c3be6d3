import { describe, expect, it } from "vitest"
import type { MirrordClusterSession } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import type { MirrordMultiClusterSession } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { multiClusterSessionInfo, parentInfo, sessionInfo } from "../../../src/domain/sessions/session-info.ts"

const now = Date.UTC(2026, 10, 21, 12)
const owner = { userId: "u", username: "ann", hostname: "laptop", k8sUsername: "ann@example" }
const target = { apiVersion: "apps/v1", kind: "Deployment", name: "web", container: "" }

const session: MirrordClusterSession = {
  metadata: { name: "00000000000000ab", creationTimestamp: "2026-11-21T11:59:00Z" },
  spec: { namespace: "default", owner, target }
}
const parent: MirrordMultiClusterSession = {
  metadata: { name: "mc-00000000000000ff", creationTimestamp: "2026-11-21T11:00:00Z" },
  spec: { owner, namespace: "default", target, targetAlias: "deployment.web", clusters: ["a"], primaryCluster: "p" },
  status: { phase: "Ready" }
}

describe("a session in a list", () => {
  it("has the id that the client itself shows", () => {
    const common = { user: "ann/ann@example@laptop", target: "deployment/web", namespace: "default", user_id: "u" }
    expect(sessionInfo(session, [], now)).toEqual({ id: "AB", duration_secs: 60, ...common })
    expect(parentInfo(parent, [], now)).toEqual({ id: "FF", duration_secs: 3600, ...common })
  })

  it.each(["session", "parent"] as const)("has its key, filter and stolen ports: %s", (kind) => {
    const ports = [{ port: 80 }, { port: 8080, filter: "header=x-user: ann" }]
    const more = { key: "abc12", httpFilter: { headerFilter: "x-user: ann" } }
    const info =
      kind === "session"
        ? sessionInfo({ ...session, spec: { ...session.spec, ...more } }, ports, now)
        : parentInfo({ ...parent, spec: { ...parent.spec, ...more } }, ports, now)
    expect(info).toMatchObject({
      key: "abc12",
      http_filter: { headerFilter: "x-user: ann" },
      locked_ports: [
        { port: 80, kind: "steal" },
        { port: 8080, kind: "steal", filter: "header=x-user: ann" }
      ]
    })
  })

  it("leaves null fields out, which other operators may write", () => {
    const spec = { ...session.spec, key: null, httpFilter: { headerFilter: null } }
    expect(sessionInfo({ ...session, spec }, [], now)).toEqual(sessionInfo(session, [], now))
  })

  it("goes by its own name in the operator's status, and by its alias without a known target", () => {
    expect(multiClusterSessionInfo(parent, now)).toMatchObject({
      id: "mc-00000000000000ff",
      durationSecs: 3600,
      target: "deployment/web",
      phase: "Ready"
    })
    const spec = { ...parent.spec, target: { ...target, kind: "Unheard" } }
    expect(multiClusterSessionInfo({ metadata: parent.metadata, spec }, now)).toMatchObject({
      target: "deployment.web",
      phase: "Initializing"
    })
  })

  it("has all its clusters in the operator's status, but for those that are left out", () => {
    const clusters = ["a", "b", "c"]
    const part = { sessionName: "x", ready: false }
    const listed = (clusterSessions: Readonly<Record<string, typeof part & { readonly error?: string }>>) => {
      const status = { phase: "Ready", clusterSessions } as const
      return multiClusterSessionInfo({ ...parent, spec: { ...parent.spec, clusters }, status }, now).clusters
    }
    expect(multiClusterSessionInfo({ ...parent, spec: { ...parent.spec, clusters } }, now).clusters).toEqual(clusters)
    expect(listed({ a: { ...part, ready: true }, c: part })).toEqual(clusters)
    expect(listed({ a: { ...part, ready: true }, b: { ...part, error: "no such deployment" } })).toEqual(["a", "c"])
  })

  it("says which clusters take no part, and why, where people read it", () => {
    const clusterSessions = {
      a: { sessionName: "x", ready: true },
      b: { sessionName: "y", ready: false, error: "there is no deployment/web" },
      c: { sessionName: "z", ready: false }
    }
    const spec = { ...parent.spec, clusters: ["a", "b", "c"] }
    const partial = { ...parent, spec, status: { phase: "Ready", clusterSessions } } as const
    expect(multiClusterSessionInfo(partial, now)).toMatchObject({
      clusters: ["a", "c"],
      phase: "Ready, without b: there is no deployment/web",
      clusterSessions: {
        a: { ready: true },
        b: { ready: false, error: "there is no deployment/web" },
        c: { ready: false }
      }
    })
    // The real client's page reads a kind and a name from this text, and splits it at slashes.
    expect(parentInfo(partial, [], now).target).toBe("deployment/web (without b)")
  })

  it("holds short and harmless texts, whoever made its object", () => {
    const nasty = `${"\u001b[2J\u202e\n".repeat(100_000)}`
    const spec = {
      namespace: nasty,
      key: nasty,
      owner: { userId: "u", username: nasty, hostname: nasty, k8sUsername: nasty }
    }
    const rows = [
      sessionInfo({ ...session, spec: { ...session.spec, ...spec } }, [], now),
      parentInfo({ ...parent, spec: { ...parent.spec, ...spec } }, [], now),
      multiClusterSessionInfo({ ...parent, spec: { ...parent.spec, ...spec, target: { ...target, name: nasty } } }, now)
    ]
    for (const row of rows) {
      const texts = Object.values(row).filter((value) => typeof value === "string")
      expect(texts.filter((text) => /[\p{Cc}\p{Bidi_Control}]/u.test(text))).toEqual([])
      expect(Math.max(...texts.map((text) => text.length))).toBeLessThanOrEqual(4_096)
    }
  })
})
