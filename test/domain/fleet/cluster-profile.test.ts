import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { profileCluster } from "../../../src/domain/fleet/cluster-profile.ts"

const metadata = { name: "a", namespace: "fleet" }
const cluster = (server = "https://a", more: object = {}) => ({ server, ...more })
const offer = (name: string, of: object = cluster()) => ({ name, cluster: of })
const profile = (status: object, more: object = {}) => ({ metadata: { ...metadata, ...more }, status })
const providers = [{ name: "first" }, { name: "second" }]

const execExtension = "client.authentication.k8s.io/exec"

describe("a ClusterProfile", () => {
  it("is a cluster with the plugin of its access provider, which is told what the profile has for it", () => {
    const extensions = [
      { name: "other", extension: { clusterName: "no" } },
      { name: execExtension, extension: { clusterName: "a" } }
    ]
    expect(
      profileCluster(profile({ accessProviders: [offer("first", cluster("https://a", { extensions }))] }), providers)
    ).toEqual({
      from: "ClusterProfile fleet/a",
      name: "a",
      member: {
        server: "https://a",
        certificateAuthority: undefined,
        namespace: undefined,
        auth: { _tag: "ExecPlugin", provider: "first", config: '{"clusterName":"a"}' },
        problems: []
      }
    })
  })

  it.each([
    ["without a status", {}],
    ["that offers nothing", { accessProviders: [] }],
    ["whose offers are no list", { accessProviders: "first" }]
  ])("%s is no cluster yet", (_what, status) => expect(profileCluster(profile(status), providers)).toBeUndefined())

  it("that is being deleted is no cluster any more", () => {
    const deleted = { deletionTimestamp: "2026-11-21T12:00:00Z" }
    expect(profileCluster(profile({ accessProviders: [offer("first")] }, deleted), providers)).toBeUndefined()
  })

  it("is used by the first provider in the administrator's order", () => {
    const accessProviders = [offer("second", cluster("https://second")), offer("first", cluster("https://first"))]
    expect(profileCluster(profile({ accessProviders }), providers)?.member.server).toBe("https://first")
    expect(profileCluster(profile({ accessProviders }), providers.toReversed())?.member.server).toBe("https://second")
  })

  it("may have its offers in the older field, which loses to the newer one", () => {
    const older = { credentialProviders: [offer("first", cluster("https://older"))] }
    expect(profileCluster(profile(older), providers)?.member.server).toBe("https://older")
    const both = { ...older, accessProviders: [offer("first", cluster("https://newer"))] }
    expect(profileCluster(profile(both), providers)?.member.server).toBe("https://newer")
  })

  it.each<[string, object, RegExp]>([
    [
      "a provider that is not configured",
      offer("third"),
      /^ClusterProfile fleet\/a is unusable: it offers access by "third" alone, which .*accessProviders does not name; add/u
    ],
    ["a provider without a name", { cluster: cluster() }, /offers access by "" alone/u],
    ["no address", offer("first", {}), /its access provider "first" is unusable: its server is ""; write/u],
    ["an address without TLS", offer("first", cluster("http://a")), /its server is "http:\/\/a"; write/u],
    [
      "a file",
      offer("first", cluster("https://a", { "certificate-authority": "/ca" })),
      /it has certificate-authority;/u
    ],
    ["a proxy", offer("first", cluster("https://a", { "proxy-url": "http://p" })), /it has proxy-url;/u],
    [
      "no check",
      offer("first", cluster("https://a", { "insecure-skip-tls-verify": true })),
      /insecure-skip-tls-verify;/u
    ],
    [
      "a wrong CA",
      offer("first", cluster("https://a", { "certificate-authority-data": "???" })),
      /is no base64 of PEM;/u
    ]
  ])("with %s is refused with a sentence", (_what, one, sentence) => {
    const found = profileCluster(profile({ accessProviders: [one] }), providers)
    expect(found?.member.problems).toEqual([expect.stringMatching(sentence)])
    expect(found?.member.server).toBe("")
  })

  it("never chooses a program, an argument or a variable, whatever it says", () => {
    const told = fc.record({
      metadata: fc.constant(metadata),
      status: fc.record({
        accessProviders: fc.oneof(
          fc.jsonValue(),
          fc.array(
            fc.record({ name: fc.constantFrom("first", "third"), cluster: fc.jsonValue(), execConfig: fc.jsonValue() })
          )
        )
      })
    })
    fc.assert(
      fc.property(told, (one) => {
        const found = profileCluster(one, providers)
        if (found === undefined) return
        const { auth, problems } = found.member
        expect(Object.keys(auth).toSorted()).toEqual(["_tag", "config", "provider"])
        expect(problems.length > 0 || (auth._tag === "ExecPlugin" && auth.provider === "first")).toBe(true)
      })
    )
  })
})
