import { describe, expect, it } from "vitest"
import {
  cellAddresses,
  memberValues,
  primaryValues,
  unusedFlags
} from "../../../../src/domain/commands/join/join-request.ts"
import { request } from "./joining.ts"

describe("the values for a member", () => {
  it("make the service account, unless the primary has an identity of its own there", () => {
    expect(memberValues(request())).toEqual({ operator: { multiClusterMember: true } })
    expect(memberValues(request({ provider: "eks" }))).toEqual({
      operator: { multiClusterMember: true, multiClusterMemberIamGroup: "mirrord-operator-envoy" }
    })
    expect(memberValues(request({ provider: "aks", group: "id" }))).toEqual({
      operator: { multiClusterMember: true, multiClusterMemberAzureGroup: "id" }
    })
  })
  it("name the user of a client certificate, and another namespace", () => {
    expect(memberValues(request({ provider: "mtls", user: "primary", namespace: "other" }))).toEqual({
      namespace: "other",
      operator: { multiClusterMember: true },
      rbac: { memberSubjects: [{ kind: "User", name: "primary", apiGroup: "rbac.authorization.k8s.io" }] }
    })
  })
})

it("the values for the primary name a default cluster only where there is none", () => {
  expect(primaryValues(request(), false)).not.toHaveProperty("operator.multiCluster.defaultCluster")
  expect(primaryValues(request(), true)).toHaveProperty("operator.multiCluster.defaultCluster", "c")
})

describe("a member that dials out", () => {
  const dialled = { cell: "c:1", bootstrap: "c:2", pin: "ab", token: undefined }
  it("gets the way to its primary, and makes its primary take tunnels", () => {
    const outbound = request({ provider: "outbound", server: undefined, certificateAuthority: undefined })
    expect(memberValues(outbound, { ...dialled, token: "t" })).toEqual({
      operator: { multiClusterMember: true, outbound: { enabled: true, ...dialled, token: "t" } }
    })
    expect(primaryValues(outbound, false)).toEqual({
      operator: { cell: { enabled: true }, multiCluster: { enabled: true, clusters: { c: { authType: "outbound" } } } }
    })
  })
  it.each([
    ["cell.example.com:9443", "cell.example.com:9443", "cell.example.com:8444"],
    ["[fd00::1]:9443", "[fd00::1]:9443", "[fd00::1]:8444"],
    ["wss://cell.example.com", "wss://cell.example.com/tunnels", "wss://cell.example.com/bootstrap"],
    ["wss://cell.example.com/a/", "wss://cell.example.com/a/tunnels", "wss://cell.example.com/a/bootstrap"],
    ["WSS://cell:1/tunnels", "WSS://cell:1/tunnels", "WSS://cell:1/bootstrap"],
    ["ws:8443", "ws:8443", "ws:8444"]
  ])("finds tunnels and redemptions by the cell %s", (address, cell, bootstrap) =>
    expect(cellAddresses(address)).toEqual({ cell, bootstrap })
  )
  it("is not joined with flags that it has no use for", () =>
    expect(unusedFlags({ "--server": "https://c", "--region": undefined, "--wait": false })).toEqual([
      '--server: found "https://c", which --outbound does not use; leave it out.'
    ]))
})
