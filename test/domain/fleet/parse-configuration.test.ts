import * as Result from "effect/Result"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { parse } from "yaml"
import { sha256Hex } from "../../../src/app/kernel/sha256-hex.ts"
import { parseFleetConfiguration, type ConfigurationDocument } from "../../../src/domain/fleet/parse-configuration.ts"
import { fleetProblems, roleOf, workloadClusters } from "../../../src/domain/fleet/roles.ts"

const absent: ConfigurationDocument = { _tag: "Absent" }
const yaml = (text: string): ConfigurationDocument => ({ _tag: "Parsed", value: parse(text) })
const read = (multiCluster: ConfigurationDocument | string, clusters: ConfigurationDocument | string = absent) =>
  parseFleetConfiguration(
    {
      multiCluster: typeof multiCluster === "string" ? yaml(multiCluster) : multiCluster,
      clusters: typeof clusters === "string" ? yaml(clusters) : clusters
    },
    sha256Hex
  )
const mistakes = (...documents: Parameters<typeof read>) => {
  const result = read(...documents)
  return Result.isFailure(result) ? result.failure : []
}
const fields = (...documents: Parameters<typeof read>) =>
  mistakes(...documents).map(({ file, field }) => `${file}:${field}`)

const pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"

/** As the published chart renders it. */
const primary = `
clusterName: "primary"
defaultCluster: "staging-cluster"
managementOnly: true
remoteSessionTimeoutSecs: 300
sessionTtlSecs: 60
`
const clusters = `
clusters:
  - name: "my-eks-cluster"
    server: "https://ABCDEF1234567890.gr7.eu-north-1.eks.amazonaws.com"
    caData: "${btoa(pem)}"
    authType: "eks"
    region: "eu-north-1"
  - name: "on-prem-cluster"
    server: "https://api.onprem.example.com:6443"
    authType: "mtls"
  - name: "staging-cluster"
    server: "https://api.staging.example.com:6443"
    isDefault: true
    authType: "bearerToken"
`

describe("parseFleetConfiguration", () => {
  it("reads three clusters with credentials as the chart renders them", () => {
    const fleet = Result.getOrThrow(read(primary, clusters))
    expect(fleet).toMatchObject({
      clusterName: "primary",
      defaultCluster: "staging-cluster",
      managementOnly: true,
      remoteSessionTimeoutSecs: 300,
      sessionTtlSecs: 60,
      sessionStart: "default"
    })
    expect(fleet.members.map(({ name, auth }) => [name, auth._tag])).toEqual([
      ["my-eks-cluster", "Eks"],
      ["on-prem-cluster", "Mtls"],
      ["staging-cluster", "BearerToken"]
    ])
    expect(fleet.members[0]).toMatchObject({ certificateAuthority: pem, auth: { region: "eu-north-1" }, problems: [] })
    expect(roleOf(fleet)).toEqual({ _tag: "Primary", managementOnly: true, isDefault: false })
    expect(workloadClusters(fleet).map(({ name, isDefault }) => [name, isDefault])).toEqual([
      ["my-eks-cluster", false],
      ["on-prem-cluster", false],
      ["staging-cluster", true]
    ])
    expect(fleetProblems(fleet)).toEqual([])
  })

  it("knows the other roles", () => {
    expect(roleOf(undefined)).toEqual({ _tag: "Single" })
    const fleet = Result.getOrThrow(
      read(
        "clusterName: hub\ndefaultCluster: hub\nmanagementOnly: false",
        "clusters: [{name: b, server: 'https://b', authType: aks, tenantId: t}]"
      )
    )
    expect(roleOf(fleet)).toEqual({ _tag: "Primary", managementOnly: false, isDefault: true })
    expect(workloadClusters(fleet)).toMatchObject([
      { name: "b", isDefault: false },
      { name: "hub", isDefault: true, member: undefined }
    ])
    expect(fleet.members[0]?.auth).toEqual({ _tag: "Aks", tenantId: "t", clientId: undefined })
  })

  it("uses published defaults for a missing, null or 0 value, and isDefault for an empty defaultCluster", () => {
    const fleet = Result.getOrThrow(
      read('clusterName: ""\ndefaultCluster: ""\nremoteSessionTimeoutSecs: 0\nsessionTtlSecs: null', clusters)
    )
    expect(fleet).toMatchObject({
      clusterName: "primary",
      managementOnly: true,
      remoteSessionTimeoutSecs: 300,
      sessionTtlSecs: 60,
      defaultCluster: "staging-cluster"
    })
    expect(Result.getOrThrow(read(`${primary}sessionStart: all`, clusters)).sessionStart).toBe("all")
    expect(Result.getOrThrow(read("managementOnly: null", absent)).managementOnly).toBe(false)
  })

  it("takes isDefault as a text, too", () => {
    const texts = clusters
      .replace('authType: "mtls"', 'authType: "mtls"\n    isDefault: "false"')
      .replace("isDefault: true", 'isDefault: "true"')
    expect(Result.getOrThrow(read('defaultCluster: ""', texts)).defaultCluster).toBe("staging-cluster")
  })

  it("allows names that are no DNS labels", () => {
    const fleet = Result.getOrThrow(
      read(
        "managementOnly: true\ndefaultCluster: Prod_EU",
        "clusters: [{name: Prod_EU, server: 'https://a', authType: eks, region: r}]"
      )
    )
    expect(fleet.defaultCluster).toBe("Prod_EU")
  })

  it.each([
    ["no clusters at all", "defaultCluster: gone\nmanagementOnly: true", absent],
    ["an empty list", primary, "clusters: []"],
    ["an empty file", primary, ""],
    ["no default anywhere", "managementOnly: true", "clusters: [{name: a, server: 'https://a', authType: mtls}]"]
  ] as const)("never refuses %s, and /readyz says why", (_, multi, list) =>
    expect(fleetProblems(Result.getOrThrow(read(multi, list)))).toHaveLength(1)
  )

  it.each([
    ["a missing region", "{name: a, server: 'https://a', authType: eks}", "region"],
    ["an impossible region", "{name: a, server: 'https://a', authType: eks, region: 'sts.evil/'}", "no AWS region"],
    ["a name that no EKS cluster has", "{name: 'a.b', server: 'https://a', authType: eks, region: r}", '"a.b"'],
    ["an unreadable CA", "{name: a, server: 'https://a', authType: mtls, caData: '!!'}", "caData"],
    ["a CA that is no text", "{name: a, server: 'https://a', authType: mtls, caData: 5}", "caData"],
    ["an impossible tenant", "{name: a, server: 'https://a', authType: aks, tenantId: 'a b'}", "tenantId is"],
    ["an impossible client", "{name: a, server: 'https://a', authType: aks, clientId: operator}", "clientId is"],
    ["a server that is no URL", "{name: a, server: 'a b', authType: mtls}", "server"],
    ["a CA of a cluster that dials out", "{name: a, authType: outbound, caData: x}", "caData is not used"]
  ])("never refuses %s: it is that cluster's problem", (_, entry, text) => {
    const fleet = Result.getOrThrow(read("managementOnly: true", `clusters: [${entry}]`))
    expect(fleet.members[0]?.problems).toHaveLength(1)
    expect(fleet.members[0]?.problems[0]).toContain(text)
  })

  it("needs no credential, CA, token or key", () => {
    for (const authType of ["bearerToken", "mtls", "aks"]) {
      const fleet = Result.getOrThrow(
        read(
          "managementOnly: true\ndefaultCluster: a",
          `clusters: [{name: a, server: 'https://a', authType: ${authType}}]`
        )
      )
      expect(fleet.members[0]?.problems).toEqual([])
    }
  })

  it("needs no server of a cluster that dials out", () => {
    const fleet = Result.getOrThrow(read("defaultCluster: a", "clusters: [{name: a, authType: outbound}]"))
    expect(fleet.members).toMatchObject([{ server: undefined, auth: { _tag: "Outbound" }, problems: [] }])
  })

  const entry = "name: a, server: 'https://a', authType: mtls"
  it.each([
    [
      "missing authType",
      primary,
      "clusters: [{name: staging-cluster, server: 'https://a'}]",
      ["clusters-config.yaml:clusters[0].authType"]
    ],
    [
      "unknown authType",
      primary,
      "clusters: [{name: staging-cluster, server: 'https://a', authType: bearer}]",
      ["clusters-config.yaml:clusters[0].authType"]
    ],
    [
      "a server of a cluster that dials out",
      primary,
      "clusters: [{name: staging-cluster, server: 'https://a', authType: outbound}]",
      ["clusters-config.yaml:clusters[0].server"]
    ],
    [
      "null server",
      primary,
      "clusters: [{name: staging-cluster, server: null, authType: mtls}]",
      ["clusters-config.yaml:clusters[0].server"]
    ],
    [
      "management-only as its own default",
      "clusterName: p\ndefaultCluster: p\nmanagementOnly: true",
      `clusters: [{${entry}}]`,
      ["multicluster-config.yaml:defaultCluster"]
    ],
    [
      "management-only as its own default, alone",
      "clusterName: p\ndefaultCluster: p\nmanagementOnly: true",
      absent,
      ["multicluster-config.yaml:defaultCluster"]
    ],
    [
      "an unknown defaultCluster",
      "defaultCluster: x",
      `clusters: [{${entry}}]`,
      ["multicluster-config.yaml:defaultCluster"]
    ],
    [
      "two isDefault",
      "defaultCluster: ''",
      `clusters: [{${entry}, isDefault: true}, {name: b, server: 'https://b', authType: mtls, isDefault: true}]`,
      ["clusters-config.yaml:clusters[1].isDefault"]
    ],
    [
      "isDefault against defaultCluster",
      "defaultCluster: b",
      `clusters: [{${entry}, isDefault: true}, {name: b, server: 'https://b', authType: mtls}]`,
      ["clusters-config.yaml:clusters[0].isDefault"]
    ],
    [
      "isDefault against the primary as default",
      "clusterName: p\ndefaultCluster: p\nmanagementOnly: false",
      `clusters: [{${entry}, isDefault: true}]`,
      ["clusters-config.yaml:clusters[0].isDefault"]
    ],
    [
      "the same name twice",
      "defaultCluster: a",
      `clusters: [{${entry}}, {${entry}}]`,
      ["clusters-config.yaml:clusters[1].name"]
    ],
    [
      "a member with the primary's name",
      "clusterName: a\nmanagementOnly: false\ndefaultCluster: a",
      `clusters: [{${entry}}]`,
      ["clusters-config.yaml:clusters[0].name"]
    ],
    [
      "an entry without name",
      "defaultCluster: zzz",
      "clusters: [{server: 'https://a', authType: mtls}]",
      ["clusters-config.yaml:clusters[0].name"]
    ],
    ["a list that is none", primary, "clusters: {a: {}}", ["clusters-config.yaml:clusters"]],
    ["a time that is none", `${primary}\nsessionStart: some`, clusters, ["multicluster-config.yaml:sessionStart"]]
  ] as const)("refuses %s", (_, multi, list, expected) => expect(fields(multi, list)).toEqual(expected))

  it("refuses names whose objects would be named alike", () => {
    const twin = `a-b-${sha256Hex("A_b").slice(0, 6)}`
    const found = mistakes(
      "defaultCluster: A_b",
      `clusters: [{name: A_b, server: 'https://a', authType: mtls}, {name: ${twin}, server: 'https://b', ` +
        "authType: mtls}]"
    )
    expect(found.map(({ field }) => field)).toEqual(["clusters[1].name"])
    expect(found[0]?.message).toContain("A_b")
  })

  it("refuses what is not YAML, in both files at once, without follow-up mistakes", () => {
    const bad: ConfigurationDocument = { _tag: "NotYaml", reason: "bad indentation at line 3, column 1" }
    expect(fields(bad, bad)).toEqual(["multicluster-config.yaml:", "clusters-config.yaml:"])
    expect(mistakes(bad)[0]?.message).toContain("line 3")
    expect(fields("defaultCluster: x", bad)).toEqual(["clusters-config.yaml:"])
  })

  it("tells ten mistakes at once, each one sentence with file, field, value and cure", () => {
    const found = mistakes(
      "clusterName: hub\ndefaultCluster: nowhere\nmanagementOnly: perhaps\nsessionTtlSecs: " +
        "-1\nremoteSessionTimeoutSecs: soon\nsessionStart: never",
      `clusters:
        - {name: a, server: "https://a", authType: ldap, isDefault: true}
        - {name: b, authType: mtls, isDefault: true}
        - {name: hub, server: "https://c", authType: mtls}
        - {name: a, server: "https://d"}`
    )
    expect(found.map(({ field }) => field)).toEqual([
      "managementOnly",
      "remoteSessionTimeoutSecs",
      "sessionTtlSecs",
      "sessionStart",
      "defaultCluster",
      "clusters[0].authType",
      "clusters[1].server",
      "clusters[3].authType",
      "clusters[2].name",
      "clusters[3].name",
      "clusters[1].isDefault",
      "clusters[0].isDefault"
    ])
    for (const { message, file, field, value, cure } of found) {
      expect(message).toMatch(/^[^\n]+\.$/u)
      for (const part of [file, field, value, cure]) expect(message).toContain(part)
    }
    expect(found[5]?.message).toBe(
      'clusters-config.yaml, clusters[0].authType: this authType does not exist (found "ldap"); write one of ' +
        "bearerToken, eks, aks, mtls, outbound."
    )
  })

  it("never throws and never refuses without a reason, whatever the values are", () => {
    fc.assert(
      fc.property(
        fc.anything(),
        fc.anything(),
        fc.array(
          fc.dictionary(
            fc.constantFrom("name", "server", "authType", "isDefault", "caData", "region"),
            fc.oneof(fc.string(), fc.boolean(), fc.integer())
          )
        ),
        (one, other, list) => {
          for (const value of [other, { clusters: other }, { clusters: list }]) {
            const result = read({ _tag: "Parsed", value: one }, { _tag: "Parsed", value })
            if (Result.isFailure(result)) expect(result.failure.length).toBeGreaterThan(0)
          }
        }
      )
    )
  })
})
