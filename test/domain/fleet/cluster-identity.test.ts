import { describe, expect, it } from "vitest"
import { type IdentifiedCluster, isAboutIdentity, judgeIdentity } from "../../../src/domain/fleet/cluster-identity.ts"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"

const uid = (value: string) => ({ _tag: "Uid", uid: value }) as const
const asked = (change: Partial<IdentifiedCluster>): IdentifiedCluster => ({
  name: clusterName("eu_west"),
  slug: "eu-west-123456",
  found: uid("one"),
  own: "zero",
  pins: new Map(),
  namespace: "mirrord",
  ...change
})
const refusal = (change: Partial<IdentifiedCluster>): string => {
  const verdict = judgeIdentity(asked(change))
  return verdict._tag === "Refused" ? verdict.message : verdict._tag
}

describe("the identity of a cluster", () => {
  it("is pinned at first sight, and holds", () => {
    expect(judgeIdentity(asked({}))).toEqual({ _tag: "ToPin", uid: "one" })
    expect(judgeIdentity(asked({ pins: new Map([["eu-west-123456", "one"]]) }))).toEqual({ _tag: "AsPinned" })
  })

  it("refuses another cluster, with both UIDs and the command that forgets the pin", () => {
    expect(refusal({ pins: new Map([["eu-west-123456", "two"]]) })).toBe(
      "it is not the cluster that it was: the UID of its namespace kube-system is one, not two; correct its server " +
        "and its credentials, or run `kubectl patch configmap mirrord-operator-cluster-identities -n mirrord " +
        `--type merge -p '{"data":{"eu-west-123456":null}}'\` if it was replaced`
    )
  })

  it("refuses a cluster without the namespace under a name that has a pin", () => {
    const message = refusal({ found: { _tag: "NoNamespace" }, pins: new Map([["eu-west-123456", "two"]]) })
    expect(isAboutIdentity(message)).toBe(true)
    expect(message).toMatch(
      /^it is not the cluster that it was: .* is pinned as two, and it has no such namespace; .*null/
    )
  })

  it("refuses a second name of one cluster, whether the first one is configured or was", () => {
    expect(refusal({ pins: new Map([["b", "one"]]) })).toMatch(
      /^it is cluster b: .* is one, which is pinned for b; remove one of the two, or run `.*"b":null.*` if b is called/
    )
    const swapped = new Map([
      ["b", "one"],
      ["eu-west-123456", "two"]
    ])
    expect(refusal({ pins: swapped })).toContain("not two")
  })

  it("refuses the primary's own cluster as a member, pinned or not", () => {
    expect(isAboutIdentity(refusal({ found: uid("zero") }))).toBe(true)
    expect(isAboutIdentity("connection refused")).toBe(false)
    expect(refusal({ found: uid("zero"), pins: new Map([["eu-west-123456", "zero"]]) })).toMatch(
      /^it is the primary's own cluster: .* is zero, .*managementOnly=false/
    )
  })

  it("accepts a cluster that tells nothing, and a primary that knows nothing of itself", () => {
    const untold = { _tag: "Untold" } as const
    expect(judgeIdentity(asked({ found: untold, pins: new Map([["eu-west-123456", "two"]]) }))).toEqual(untold)
    expect(judgeIdentity(asked({ found: { _tag: "NoNamespace" } }))).toEqual(untold)
    expect(judgeIdentity(asked({ own: undefined }))._tag).toBe("ToPin")
  })
})
