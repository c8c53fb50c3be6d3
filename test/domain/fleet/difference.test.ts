import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { clusterName } from "../../../src/domain/fleet/cluster-name.ts"
import type { FleetConfiguration, MemberConfiguration } from "../../../src/domain/fleet/configuration.ts"
import { difference, type FleetDifference, needsRestart } from "../../../src/domain/fleet/difference.ts"
import { configurationOf } from "../../support/fleet.ts"

const nothing: FleetDifference = { engage: [], reauthenticate: [], reengage: [], disengage: [] }

const member = (name: string, more: Partial<MemberConfiguration> = {}): MemberConfiguration => ({
  name: clusterName(name),
  server: `https://${name}`,
  namespace: undefined,
  certificateAuthority: undefined,
  auth: { _tag: "BearerToken" },
  problems: [],
  ...more
})

const of = (...members: ReadonlyArray<MemberConfiguration>) => ({ members })

describe("the difference of two configurations", () => {
  it("engages what is new, and disengages what is gone", () => {
    const found = difference(of(member("a"), member("b")), of(member("d"), member("b"), member("c")))
    expect(found).toEqual({ ...nothing, engage: [member("c"), member("d")], disengage: ["a"] })
  })

  it("re-authenticates a member of which only the credential is another", () => {
    const after = member("a", { auth: { _tag: "Mtls" } })
    expect(difference(of(member("a")), of(after))).toEqual({ ...nothing, reauthenticate: [after] })
    const [west, east] = ["west", "east"].map((region) => member("a", { auth: { _tag: "Eks", region } }))
    if (west === undefined || east === undefined) throw new Error("missing")
    expect(difference(of(west), of(east))).toEqual({ ...nothing, reauthenticate: [east] })
  })

  it.each([
    ["server", { server: "https://other" }],
    ["CA", { certificateAuthority: "-----BEGIN CERTIFICATE-----" }],
    ["namespace", { namespace: "other" }],
    ["list of problems", { problems: ["caData cannot be read."] }],
    ["server and credential", { server: "https://other", auth: { _tag: "Mtls" } }]
  ] as const)("re-engages a member that has another %s", (_what, more) => {
    const after = member("a", more)
    expect(difference(of(member("a")), of(after))).toEqual({ ...nothing, reengage: [after] })
  })
})

const anyMember: fc.Arbitrary<MemberConfiguration> = fc.record({
  name: fc.constantFrom("a", "b", "c", "d", "e").map(clusterName),
  server: fc.constantFrom("https://one", "https://two"),
  namespace: fc.constantFrom(undefined, "mirrord"),
  certificateAuthority: fc.constantFrom(undefined, "PEM"),
  auth: fc.constantFrom<MemberConfiguration["auth"][]>(
    { _tag: "BearerToken" },
    { _tag: "Mtls" },
    { _tag: "Eks", region: "west" },
    { _tag: "Eks", region: undefined }
  ),
  problems: fc.constantFrom([], ["a problem."])
})
const anyFleet = fc.uniqueArray(anyMember, { selector: ({ name }) => name }).map((members) => ({ members }))

/** The members after the changes, in no order. */
const applied = ({ members }: ReturnType<typeof of>, found: FleetDifference): Map<string, MemberConfiguration> => {
  const { disengage, engage, reauthenticate, reengage } = found
  const after = new Map<string, MemberConfiguration>(members.map((known) => [known.name, known]))
  for (const { auth, name } of reauthenticate) {
    const known = after.get(name)
    if (known !== undefined) after.set(name, { ...known, auth })
  }
  for (const changed of [...engage, ...reengage]) after.set(changed.name, changed)
  for (const name of disengage) after.delete(name)
  return after
}

describe("any two configurations", () => {
  it("the difference leads from one to the other", () => {
    fc.assert(
      fc.property(anyFleet, anyFleet, (before, after) => {
        expect(applied(before, difference(before, after))).toEqual(new Map(after.members.map((one) => [one.name, one])))
      })
    )
  })

  it("equal ones differ in nothing", () => {
    fc.assert(
      fc.property(anyFleet, (fleet) => {
        expect(difference(fleet, structuredClone(fleet))).toEqual(nothing)
      })
    )
  })

  it("the order of the members says nothing", () => {
    const turned = ({ members }: ReturnType<typeof of>) => ({ members: members.toReversed() })
    fc.assert(
      fc.property(anyFleet, anyFleet, (before, after) => {
        expect(difference(turned(before), turned(after))).toEqual(difference(before, after))
      })
    )
  })

  it("a cluster is in one list at most, and a new one in no list for known ones", () => {
    fc.assert(
      fc.property(anyFleet, anyFleet, (before, after) => {
        const { disengage, engage, reauthenticate, reengage } = difference(before, after)
        const names = [...disengage, ...[...engage, ...reauthenticate, ...reengage].map(({ name }) => name)]
        expect(new Set(names).size).toBe(names.length)
        const known = new Set(before.members.map(({ name }) => name))
        expect(engage.filter(({ name }) => known.has(name))).toEqual([])
      })
    )
  })
})

describe("a configuration for a running operator", () => {
  const running: FleetConfiguration = configurationOf(["a", "b"])

  it("needs no restart for other members", () => expect(needsRestart(running, configurationOf(["a", "c"]))).toEqual([]))

  it("needs one for another default cluster, role or setting, and says so", () => {
    const found = { ...running, defaultCluster: clusterName("b"), managementOnly: false, sessionTtlSecs: 61 }
    expect(needsRestart(running, found).map(({ message }) => message)).toEqual([
      "multicluster-config.yaml, managementOnly: the operator runs with true (found false); " +
        "restart the operator, or set the former value back.",
      'multicluster-config.yaml, defaultCluster: the operator runs with "a" (found "b"); ' +
        "restart the operator, or set the former value back.",
      "multicluster-config.yaml, sessionTtlSecs: the operator runs with 60 (found 61); " +
        "restart the operator, or set the former value back."
    ])
    expect(needsRestart(running, { ...running, defaultCluster: undefined })[0]?.message).toContain("(found nothing)")
  })
})
