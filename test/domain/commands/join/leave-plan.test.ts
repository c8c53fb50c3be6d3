import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { sha256Hex } from "../../../../src/app/kernel/sha256-hex.ts"
import { type LeaveFacts, type LeaveStep, planLeave } from "../../../../src/domain/commands/join/leave-plan.ts"
import { foundCluster } from "../../../support/fleet.ts"
import { documents } from "./joining.ts"

const facts = (more: Partial<LeaveFacts> = {}): LeaveFacts => ({
  name: "b",
  documents: documents(),
  provided: [],
  sessions: [],
  secrets: ["mirrord-cluster-b", "mirrord-cluster-b-refreshed"],
  pins: new Map([
    ["a", "uid-a"],
    ["b", "uid-b"]
  ]),
  own: "uid-primary",
  member: { _tag: "Reached", uid: "uid-b", holder: "uid-primary" },
  memberNamespace: "mirrord",
  release: undefined,
  force: false,
  ...more
})
const plan = (more: Partial<LeaveFacts> = {}) => planLeave(facts(more), sha256Hex)
const refusal = (more: Partial<LeaveFacts>): string => {
  const made = plan(more)
  return made._tag === "Refused" ? made.problems.join(" ") : made._tag
}
const left = (more: Partial<LeaveFacts>): string => {
  const made = plan(more)
  return made._tag === "Leave" ? made.left.join(" ") : made.problems.join(" ")
}
const unreached = { _tag: "Unreached", why: "It does not answer." } as const

describe("a cluster that leaves", () => {
  it("loses its entry, its Secrets, its identity and its primary, in this order", () => {
    expect(plan()).toMatchObject({
      _tag: "Leave",
      steps: [
        { _tag: "RemoveEntry", clusters: { clusters: [{ name: "a" }] } },
        { _tag: "DeleteSecret", secret: "mirrord-cluster-b" },
        { _tag: "DeleteSecret", secret: "mirrord-cluster-b-refreshed" },
        { _tag: "Unpin", slug: "b" },
        { _tag: "FreeMember" }
      ]
    })
  })

  it("keeps the Lease of another primary", () => {
    const member = { _tag: "Reached", uid: "uid-b", holder: "uid-other" } as const
    expect(plan({ member })).toMatchObject({ steps: expect.not.arrayContaining([{ _tag: "FreeMember" }]) })
  })

  it("stays while sessions use it, or while it cannot be reached, unless it is forced to leave", () => {
    const sessions = ["1", "2", "3", "4", "5", "6"].map((id) => `mc-${id}`)
    expect(refusal({ sessions })).toBe(
      "6 sessions use cluster b: mc-1, mc-2, mc-3, mc-4, mc-5 and 1 more; end them with braid sessions stop, or let " +
        "them go on without it with --force."
    )
    expect(refusal({ sessions: ["mc-1"] })).toContain("A session uses cluster b: mc-1;")
    expect(refusal({ member: unreached })).toBe(
      "It does not answer. --force leaves the cluster as it is, with its Lease mirrord-operator-primary."
    )
    expect(left({ sessions: ["mc-1"], force: true })).toContain("Sessions go on without cluster b, and their parts")
    expect(left({ member: unreached, force: true })).toContain("`kubectl delete lease mirrord-operator-primary -n mirr")
    expect(left({ release: "braid" })).toContain("release braid may still have operator.multiCluster.clusters.b")
  })

  it.each([
    ["the default cluster", { name: "a", member: unreached }, "Cluster a is the default cluster; first name another"],
    ["the primary itself", { name: "primary" }, "Cluster primary is the primary itself"],
    ["of another name", { name: "x", member: { _tag: "Reached", uid: "uid-a", holder: "uid-primary" } }, "of a;"],
    [
      "not the one that has the name",
      { member: { _tag: "Reached", uid: "uid-c", holder: "uid-primary" } },
      "is uid-c, not uid-b;"
    ],
    [
      "the primary's own",
      { member: { _tag: "Reached", uid: "uid-primary", holder: "uid-primary" } },
      "as that of the primary;"
    ]
  ] as const)("cannot be forced to if it is %s", (_, more, sentence) =>
    expect(refusal({ ...more, force: true })).toContain(sentence)
  )

  it("cannot if it was found by a Secret", () => {
    expect(refusal({ name: "f", provided: [foundCluster("f")] })).toBe(
      "Cluster f is found by Secret mirrord/f; it leaves the fleet when that is deleted."
    )
  })
})

/** The facts after a step was carried out. */
const after = (some: LeaveFacts, step: LeaveStep): LeaveFacts => {
  switch (step._tag) {
    case "RemoveEntry":
      return { ...some, documents: { ...some.documents, clusters: { _tag: "Parsed", value: step.clusters } } }
    case "DeleteSecret":
      return { ...some, secrets: some.secrets.filter((name) => name !== step.secret) }
    case "Unpin":
      return { ...some, pins: new Map([...some.pins].filter(([slug]) => slug !== step.slug)) }
    case "FreeMember":
      return some.member._tag === "Reached" ? { ...some, member: { ...some.member, holder: undefined } } : some
  }
}

it("a plan that was carried out is followed by one without steps, and what is left of one by its rest", () => {
  const uid = fc.constantFrom(undefined, "uid-primary", "uid-b", "uid-other")
  const anyFacts = fc.record({
    name: fc.constantFrom("a", "b", "c", "primary"),
    secrets: fc.subarray(["mirrord-cluster-b", "mirrord-cluster-b-refreshed"]),
    pinned: fc.boolean(),
    member: fc.oneof(fc.constant(unreached), fc.record({ _tag: fc.constant("Reached" as const), uid, holder: uid })),
    sessions: fc.constantFrom([], ["mc-1"]),
    force: fc.boolean()
  })
  fc.assert(
    fc.property(anyFacts, fc.nat(5), ({ pinned, ...some }, count) => {
      const asked = facts({ ...some, pins: new Map(pinned ? [["b", "uid-b"]] : []) })
      const made = planLeave(asked, sha256Hex)
      if (made._tag === "Refused") {
        for (const problem of made.problems) expect(problem).toMatch(/^\S.*\.$/su)
        return
      }
      const half = planLeave(made.steps.slice(0, count).reduce(after, asked), sha256Hex)
      expect(half).toMatchObject({ _tag: "Leave", steps: made.steps.slice(count) })
      if (!some.force) expect(made.steps.length === 0 || some.sessions.length === 0).toBe(true)
    })
  )
})
