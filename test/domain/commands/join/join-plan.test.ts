import { Result } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { sha256Hex } from "../../../../src/app/kernel/sha256-hex.ts"
import { type JoinFacts, planJoin } from "../../../../src/domain/commands/join/join-plan.ts"
import { parseFleetConfiguration } from "../../../../src/domain/fleet/parse-configuration.ts"
import { foundCluster } from "../../../support/fleet.ts"
import { documents, facts, request } from "./joining.ts"

const plan = (more: Partial<JoinFacts> = {}) => planJoin(facts(more), sha256Hex)
const refusal = (more: Partial<JoinFacts>): string => {
  const made = plan(more)
  return made._tag === "Refused" ? made.problems.join(" ") : made._tag
}
const entryOf = (more: Partial<JoinFacts>) => {
  const made = plan(more)
  return made._tag === "Join" ? made.entry : made
}

describe("a cluster that is to join", () => {
  it("gets an entry at the end of the list, and the others stay as they are", () => {
    const list = { extra: 1, clusters: [{ name: "a", server: "https://a", authType: "bearerToken", unknown: [1] }] }
    expect(entryOf({ documents: documents(list) })).toMatchObject({
      _tag: "Add",
      clusters: { extra: 1, clusters: [list.clusters[0], { name: "c", server: "https://c.example.com" }] }
    })
  })

  it("is refused where the operator is no primary", () => {
    expect(refusal({ documents: { multiCluster: { _tag: "Absent" }, clusters: { _tag: "Absent" } } })).toContain(
      "The operator is no primary; set operator.multiCluster.enabled"
    )
  })

  it.each([
    ["", 'The name is "": a cluster needs a name; give it another one.'],
    ["primary", "the name collides with clusterName primary, the primary itself"],
    ["b-refreshed", "the name collides with that of clusters[1], b"]
  ])("is refused under a name that it cannot have: %j", (name, sentence) =>
    expect(refusal({ request: request({ name }) })).toContain(sentence)
  )

  it("is refused under the name of a cluster that the primary finds by itself", () => {
    expect(refusal({ provided: [foundCluster("c")] })).toBe(
      "The name c collides with that of cluster c, which is found by Secret mirrord/c; give another name, or delete " +
        "that."
    )
  })

  it("is refused if it is the primary's own cluster, or has another name already", () => {
    const identity = facts().identity
    expect(refusal({ identity: { ...identity, found: "uid-primary" } })).toMatch(
      /^Cluster c cannot join: it is the primary's own cluster: /u
    )
    expect(refusal({ identity: { ...identity, pins: new Map([["b", "uid-c"]]) } })).toMatch(
      /^Cluster c cannot join: it is cluster b: /u
    )
    expect(refusal({ identity: { ...identity, pins: new Map([["c", "uid-other"]]) } })).toMatch(
      /^Cluster c cannot join: it is not the cluster that it was: /u
    )
  })

  it("is refused while it serves another primary, and not while it serves this one", () => {
    expect(refusal({ holder: "uid-other" })).toMatch(
      /^Cluster c cannot join: this cluster serves the primary uid-other, and not uid-primary .*delete lease/u
    )
    expect(entryOf({ holder: "uid-primary" })).toMatchObject({ _tag: "Add" })
  })

  it.each([
    [{ server: "c.example.com" }, 'server is "c.example.com", which is no URL'],
    [{ provider: "eks" }, "authType eks needs region; name the AWS region of the EKS cluster."],
    [{ provider: "aks" }, "--group: found nothing; --provider aks needs the object id of the Entra group"],
    [{ region: "eu-central-1" }, '--region: found "eu-central-1", which --provider token does not use; leave it out.'],
    [{ user: "me" }, '--client-certificate: found "me", which --provider token does not use; leave it out.'],
    [{ certificateAuthority: "no PEM" }, "caData cannot be read"]
  ] as const)("is refused with a mistake of its own: %j", (more, sentence) =>
    expect(refusal({ request: request(more) })).toContain(sentence)
  )

  it("is refused if an entry of its name says something else, which the sentence names", () => {
    const list = {
      clusters: [
        { name: "a", server: "https://a", authType: "bearerToken" },
        { name: "c", server: "https://elsewhere", authType: "mtls" }
      ]
    }
    expect(refusal({ documents: documents(list) })).toBe(
      "Cluster c is in the fleet already, with another server, caData, authType; change that in " +
        "operator.multiCluster.clusters.c and upgrade the release, or first run braid leave c."
    )
  })

  it("keeps an entry that says the same in other words", () => {
    const { certificateAuthority } = request()
    const same = {
      name: "c",
      server: "https://c.example.com/",
      namespace: "mirrord",
      authType: "bearerToken",
      caData: `${certificateAuthority}\n`
    }
    const list = { clusters: [{ name: "a", server: "https://a", authType: "bearerToken" }, same] }
    expect(entryOf({ documents: documents(list) })).toEqual({ _tag: "Kept" })
  })

  it("gets its entry by an upgrade where the operator was told of no list, or would need a restart", () => {
    expect(entryOf({ readsList: false })).toMatchObject({ _tag: "Upgrade", why: expect.stringContaining("no list") })
    const { clusters } = documents({ clusters: [] })
    const multiCluster = { _tag: "Parsed", value: { managementOnly: false } } as const
    expect(entryOf({ documents: { multiCluster, clusters } })).toMatchObject({
      _tag: "Upgrade",
      why: expect.stringContaining("restart")
    })
    expect(plan({ documents: { multiCluster, clusters } })).toMatchObject({ lacksDefault: true })
    expect(plan()).toMatchObject({ lacksDefault: false })
  })
})

describe("every plan", () => {
  const name = fc.constantFrom("a", "b", "c", "B.x", "b-x", "b-refreshed", "primary", "eu_west", "", "x\n")
  const wanted = fc.record({
    name,
    provider: fc.constantFrom("token", "mtls", "eks", "aks"),
    server: fc.constantFrom("https://c.example.com", "https://a.example.com", "none"),
    namespace: fc.constantFrom("mirrord", "other"),
    region: fc.constantFrom(undefined, "eu-central-1"),
    group: fc.constantFrom(undefined, "g")
  })
  const uid = fc.constantFrom(undefined, "uid-primary", "uid-c", "uid-a")
  const anyFacts = fc
    .record({
      wanted,
      found: uid,
      holder: uid,
      pins: fc.dictionary(fc.constantFrom("a", "b", "c"), fc.constantFrom("uid-a", "uid-c"))
    })
    .map(({ found, holder, pins, wanted: one }) =>
      facts({
        request: request(one),
        holder,
        identity: { found, own: "uid-primary", pins: new Map(Object.entries(pins)), namespace: "mirrord" }
      })
    )

  it("is followed by one that keeps the entry, and gives a configuration that the operator takes", () => {
    fc.assert(
      fc.property(anyFacts, (some) => {
        const made = planJoin(some, sha256Hex)
        if (made._tag !== "Join" || made.entry._tag !== "Add") return
        const after = { ...some.documents, clusters: { _tag: "Parsed", value: made.entry.clusters } } as const
        const fleet = Result.getOrThrow(parseFleetConfiguration(after, sha256Hex))
        const [before, next] = [Result.getOrThrow(parseFleetConfiguration(some.documents, sha256Hex)), fleet]
        expect(next.members.filter((member) => member.name !== some.request.name)).toEqual(before.members)
        expect(next.members.find((member) => member.name === some.request.name)).toEqual(made.member)
        expect(made.member.problems).toEqual([])
        expect(planJoin({ ...some, documents: after }, sha256Hex)).toMatchObject({
          _tag: "Join",
          entry: { _tag: "Kept" }
        })
      })
    )
  })

  it("never lets the primary's own cluster in, nor another name's, nor another primary's", () => {
    fc.assert(
      fc.property(anyFacts, (some) => {
        const { found, pins } = some.identity
        const isOwn = found === "uid-primary"
        const isOther = [...pins].some(([slug, one]) => slug !== some.request.name && one === found)
        const isTaken = some.holder !== undefined && some.holder !== "uid-primary"
        if (isOwn || isOther || isTaken) expect(planJoin(some, sha256Hex)._tag).toBe("Refused")
      })
    )
  })

  it("gives a sentence for each refusal", () => {
    fc.assert(
      fc.property(anyFacts, (some) => {
        const made = planJoin(some, sha256Hex)
        if (made._tag !== "Refused") return
        expect(made.problems.length).toBeGreaterThan(0)
        for (const problem of made.problems) expect(problem).toMatch(/^\S.*\.$/su)
      })
    )
  })
})
