import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import { type ConnectParams, parseConnectQuery } from "../../../src/domain/sessions/connect-request.ts"
import { parentSpec, sessionSpec } from "../../../src/domain/sessions/session-spec.ts"

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

  it("shows no key and no filter that a terminal would obey", () => {
    const chosen = params(new URLSearchParams({ key: "k\n\u001b[31mRED", header_filter: "x: \u202ey" }).toString())
    expect(Result.getOrThrow(parentSpec(request, owner, chosen, fleet))).toMatchObject({
      key: "k \ufffd[31mRED",
      httpFilter: { headerFilter: "x: \ufffdy" }
    })
    expect(Result.getOrThrow(sessionSpec(request, owner, chosen))).toMatchObject({
      key: "k \ufffd[31mRED",
      httpFilter: { headerFilter: "x: \ufffdy" }
    })
  })

  it("has what a CI run says of itself, clean and without nulls", () => {
    const ciInfo = { provider: "gh", environment: null, pipeline: "p\n\u001b[31mRED", unheard: "x" }
    const chosen = params(new URLSearchParams({ session_ci_info: JSON.stringify(ciInfo) }).toString())
    const stored = { provider: "gh", pipeline: "p \ufffd[31mRED" }
    expect(Result.getOrThrow(parentSpec(request, owner, chosen, fleet)).ciInfo).toEqual(stored)
    expect(Result.getOrThrow(sessionSpec(request, owner, chosen)).ciInfo).toEqual(stored)
    expect(Result.getOrThrow(sessionSpec(request, owner, params("session_ci_info={}"))).ciInfo).toEqual({})
  })

  it("in one cluster: owner, target and what the client chose", () => {
    expect(sessionSpec(request, owner, params("key=mine&header_filter=x%3A+1"))).toEqual(
      Result.succeed({
        owner,
        namespace: "shop",
        target,
        key: "mine",
        httpFilter: { headerFilter: "x: 1" },
        clientCliVersion: "3.1.0"
      })
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

  const label = { ...request, target: "label" }
  const byLabel = (value: object) => params(new URLSearchParams({ label_target: JSON.stringify(value) }).toString())

  it("in one cluster: labels as a target, in the order of their keys", () => {
    const chosen = byLabel({ labels: { tier: "front", app: "orders" }, container: "app" })
    expect(Result.getOrThrow(sessionSpec(label, owner, chosen)).target).toEqual({
      apiVersion: "meta/v1",
      kind: "LabelSelector",
      name: "app=orders,tier=front",
      container: "app"
    })
  })

  it("is refused for bad labels, for labels over many clusters, and for a target that is none", () => {
    expect(parentSpec(label, owner, byLabel({ labels: { app: "orders" } }), fleet)).toEqual(
      Result.fail("Label targets are not possible in a multi-cluster session; name a workload.")
    )
    expect(sessionSpec(label, owner, byLabel({ labels: { app: "a b" } }))).toEqual(
      Result.fail(expect.stringContaining('"a b" cannot be the value of a label'))
    )
    const nonsense = { ...request, target: "nonsense.x" }
    expect(parentSpec(nonsense, owner, params(), fleet)).toEqual(sessionSpec(nonsense, owner, params()))
    expect(Result.isFailure(sessionSpec(nonsense, owner, params()))).toBe(true)
  })
})
