import { describe, expect, it } from "vitest"
import type { MirrordClusterSession } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import type { MirrordMultiClusterSession } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { multiClusterSessionInfo, parentInfo, sessionInfo } from "../../../src/domain/session/session-info.ts"

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
    expect(sessionInfo(session, now)).toMatchObject({
      id: "AB",
      duration_secs: 60,
      user: "ann/ann@example@laptop",
      target: "deployment/web"
    })
    expect(parentInfo(parent, now)).toMatchObject({ id: "FF", duration_secs: 3600, target: "deployment/web" })
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
})
