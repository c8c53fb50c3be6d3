import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { type ConnectParams, parseConnectQuery } from "../../../src/domain/session/connect-request.ts"
import { parentSpec, sessionSpec } from "../../../src/domain/session/session-spec.ts"

const owner = { userId: "u", username: "dev", hostname: "laptop", k8sUsername: "dev@corp" }
const request = { namespace: "shop", target: "deployment.orders.container.app", clientVersion: "3.1.0" }
const target = { apiVersion: "apps/v1", kind: "Deployment", name: "orders", container: "app" }
const params = (query = ""): ConnectParams => Result.getOrThrow(parseConnectQuery(query))
const fleet = {
  clusters: [clusterName("a"), clusterName("b")],
  primaryCluster: clusterName("hub"),
  defaultCluster: clusterName("a")
}

describe("the spec of a new session", () => {
  it("over many clusters: owner, target, fleet and what the client chose", () => {
    expect(parentSpec(request, owner, params("key=mine&header_filter=x%3A+1"), fleet)).toEqual(
      Result.succeed({
        owner,
        namespace: "shop",
        targetAlias: request.target,
        clusters: ["a", "b"],
        primaryCluster: "hub",
        target,
        defaultCluster: "a",
        key: "mine",
        httpFilter: { headerFilter: "x: 1" },
        clientCliVersion: "3.1.0"
      })
    )
  })

  it("in one cluster: owner, target and what the client chose", () => {
    expect(sessionSpec(request, owner, params("key=mine&header_filter=x%3A+1"))).toEqual(
      Result.succeed({ owner, namespace: "shop", target, key: "mine", clientCliVersion: "3.1.0" })
    )
  })

  it("leaves out what the client and the fleet do not say", () => {
    const targetless = { namespace: "shop", target: "targetless", clientVersion: undefined }
    expect(sessionSpec(targetless, owner, params())).toEqual(Result.succeed({ namespace: "shop", owner }))
    const { clusters, primaryCluster } = fleet
    expect(parentSpec(targetless, owner, params(), { ...fleet, defaultCluster: undefined })).toEqual(
      Result.succeed({ owner, namespace: "shop", targetAlias: "targetless", clusters, primaryCluster })
    )
  })

  it("is refused for a label, in words of its own, and for a target that is none", () => {
    const label = { ...request, target: "label" }
    const byLabel = params(`label_target=${encodeURIComponent(JSON.stringify({ labels: { app: "orders" } }))}`)
    expect([parentSpec(label, owner, byLabel, fleet), sessionSpec(label, owner, byLabel)]).toEqual([
      Result.fail("Label targets are not possible in a multi-cluster session; name a workload."),
      Result.fail("Label targets are not supported yet; name a workload.")
    ])
    const nonsense = { ...request, target: "nonsense.x" }
    expect(parentSpec(nonsense, owner, params(), fleet)).toEqual(sessionSpec(nonsense, owner, params()))
    expect(Result.isFailure(sessionSpec(nonsense, owner, params()))).toBe(true)
  })
})
