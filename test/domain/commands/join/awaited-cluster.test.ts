import { describe, expect, it } from "vitest"
import { awaitedCluster } from "../../../../src/domain/commands/join/awaited-cluster.ts"
import type { MirrordOperatorStatus } from "../../../../src/domain/resources/mirrord-operator.ts"

const lastCheck = "2026-01-01T00:00:00Z"
const status = (more: Partial<MirrordOperatorStatus>): MirrordOperatorStatus => ({ sessions: [], ...more })

describe("a cluster that is waited for", () => {
  it("is not there before the operator has its entry, and then connected", () => {
    expect(awaitedCluster(undefined, "c")).toMatchObject({ _tag: "Waiting" })
    expect(awaitedCluster(status({}), "c")).toMatchObject({ _tag: "Waiting" })
    const connected = { operatorVersion: "1+braid.1" }
    expect(awaitedCluster(status({ connected_clusters: [{ name: "c", lastCheck, connected }] }), "c")).toEqual({
      _tag: "Connected",
      version: "1+braid.1"
    })
  })
  it("is waited for while it cannot be reached, and no more if it is another cluster", () => {
    const error = (message: string) => status({ connected_clusters: [{ name: "c", lastCheck, error: { message } }] })
    expect(awaitedCluster(error("no route"), "c")).toEqual({ _tag: "Waiting", why: "no route" })
    const message = "it is cluster b: the UID of its namespace kube-system is 1"
    expect(awaitedCluster(error(message), "c")).toEqual({ _tag: "Refused", why: message })
  })
  it("is not waited for while the operator does not use its configuration", () => {
    const conditions = [
      { type: "ConfigurationInUse", status: "False", reason: "Refused", message: "no", lastTransitionTime: lastCheck }
    ] as const
    expect(awaitedCluster(status({ conditions }), "c")).toMatchObject({
      _tag: "Refused",
      why: expect.stringContaining("no")
    })
  })
})
