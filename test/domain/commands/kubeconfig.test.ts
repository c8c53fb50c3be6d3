import * as Result from "effect/Result"
import { describe, expect, it } from "vitest"
import { memberKubeconfig, memberThrough } from "../../../src/domain/commands/kubeconfig.ts"

const cluster = (name: string, authType?: string) => ({
  metadata: { name },
  spec: { roles: ["Default" as const], ...(authType === undefined ? {} : { authType }) }
})

describe("a kubeconfig for a member", () => {
  it("leads to the member's path at the primary, with the person's credentials there", () =>
    expect(
      memberKubeconfig("b c", {
        server: "https://primary:6443/",
        cluster: { server: "https://primary:6443/", "certificate-authority-data": "CA" },
        user: { token: "mine" },
        namespace: "shop"
      })
    ).toEqual({
      apiVersion: "v1",
      kind: "Config",
      clusters: [
        {
          name: "b c",
          cluster: {
            "certificate-authority-data": "CA",
            server: "https://primary:6443/apis/operator.metalbear.co/v1/mirrordclusters/b%20c/proxy"
          }
        }
      ],
      users: [{ name: "b c", user: { token: "mine" } }],
      contexts: [{ name: "b c", context: { cluster: "b c", user: "b c", namespace: "shop" } }],
      "current-context": "b c"
    }))

  it.each([
    [[cluster("b", "outbound")], Result.succeed("b")],
    [[cluster("b", "eks")], { failure: { message: expect.stringContaining('Cluster "b" does not dial out') } }],
    [[cluster("b")], { failure: { message: expect.stringContaining("does not dial out") } }],
    [[cluster("a", "outbound")], { failure: { message: 'There is no cluster "b": the fleet has "a".' } }],
    [[], { failure: { message: 'There is no cluster "b": this cluster has no fleet.' } }]
  ])("is there for members that dial out: %j", (clusters, result) =>
    expect(memberThrough(clusters, "b")).toMatchObject(result)
  )
})
