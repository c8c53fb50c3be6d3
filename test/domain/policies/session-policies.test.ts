import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import {
  mustKnowLineage,
  policiesFor,
  policyNotes,
  scaleDownProblem
} from "../../../src/domain/policies/session-policies.ts"
import { anyPolicy, policy } from "./policies.ts"

const subject = { namespace: "default", lineage: [{ kind: "deployment", name: "a", labels: {} }], containers: [] }

describe("the policies of a session", () => {
  it("are the same in whichever order they come", () => {
    fc.assert(
      fc.property(fc.array(anyPolicy, { maxLength: 5 }), (policies) => {
        expect(policiesFor(policies, subject).text).toBe(policiesFor(policies.toReversed(), subject).text)
      })
    )
  })

  it("differ when one of them changes, comes or goes, and not by what applies elsewhere", () => {
    const [mine, elsewhere] = [policy({ block: ["steal"] }), policy({ block: ["steal"] }, "q", "other")]
    const before = policiesFor([mine], subject).text
    expect(policiesFor([mine, elsewhere], subject).text).toBe(before)
    expect(policiesFor([policy({ block: ["mirror"] })], subject).text).not.toBe(before)
    expect(policiesFor([], subject).text).not.toBe(before)
  })

  it("need labels and owners only where a policy of the namespace has a path or a selector", () => {
    expect(mustKnowLineage([policy({}), policy({ targetPath: "*" }, "q", "other")], "default")).toBe(false)
    expect(mustKnowLineage([policy({ targetPath: "*" }, "q", "default")], "default")).toBe(true)
    expect(mustKnowLineage([policy({ selector: {} })], "default")).toBe(true)
  })

  it("keep a session without a target from stealing, from mirroring and from its agent's own variables", () => {
    const targetless = { ...subject, lineage: [{ kind: "targetless", name: "", labels: {} }] }
    const own = policy({ env: { exclude: ["KEY"] } }, "mine")
    const { policies } = policiesFor([own], targetless)
    expect(policies.map(({ name }) => name)).toEqual(["targetless", "mine"])
    expect(policies[0]?.blocks).toEqual(new Set(["steal", "mirror"]))
    expect(policies[0]?.hiddenVariables).toEqual(["MIRRORD_AGENT_*", "AGENT_OPERATOR_CERT_ENV"])
    expect(policiesFor([], subject).policies, "a session with a target").toEqual([])
    expect(policyNotes(policiesFor([own], targetless)), "no administrator has asked for it").toHaveLength(1)
  })

  it("keep variables of agents that tell their own from a session, and nothing else", () => {
    const { policies } = policiesFor([], subject, true)
    expect(policies.map(({ hiddenVariables }) => hiddenVariables)).toEqual([
      ["MIRRORD_AGENT_*", "AGENT_OPERATOR_CERT_ENV"]
    ])
    expect(policies[0]?.blocks.size).toBe(0)
    expect(policyNotes({ policies, text: "" })).toEqual([])
  })

  it("are told to the user where its program would miss something silently", () => {
    const policies = [policy({ env: { exclude: ["DB_*", "KEY"] } }, "quiet"), policy({ block: ["steal"] }, "loud")]
    expect(policyNotes(policiesFor(policies, subject))).toEqual([
      'the mirrord policy "quiet" keeps environment variables of the target from this session: DB_*, KEY'
    ])
  })
})

describe("the policies of a session on a copy", () => {
  const onCopy = { ...subject, copy: { scaledown: false } }
  const names = (policies: Parameters<typeof policiesFor>[0], of: typeof onCopy | typeof subject) =>
    policiesFor(policies, of).policies.map(({ text }) => text)

  it("are those of its target that say that they are for copies", () => {
    fc.assert(
      fc.property(fc.array(anyPolicy, { maxLength: 5 }), (policies) => {
        const ours = policies.filter(({ appliesToCopies }) => appliesToCopies)
        expect(names(policies, onCopy)).toEqual(names(ours, subject))
      })
    )
  })

  it.each([
    [{}, false],
    [{ appliesToCopyTargets: false }, false],
    [{ appliesToCopyTargets: true }, true],
    [{ appliesToCopyTargets: true, targetPath: "deploy/a" }, true],
    [{ appliesToCopyTargets: true, targetPath: "deploy/b" }, false],
    [{ appliesToCopyTargets: true, selector: { matchLabels: { team: "x" } } }, false]
  ])("have %j: %s", (spec, applies) => {
    expect(names([policy(spec)], onCopy)).toHaveLength(applies ? 1 : 0)
    expect(
      policiesFor([policy(spec)], { ...onCopy, lineage: undefined }).policies,
      "the target is not known"
    ).toHaveLength("appliesToCopyTargets" in spec && spec.appliesToCopyTargets ? 1 : 0)
  })

  it("are all that it may have, if its target is not known", () => {
    fc.assert(
      fc.property(fc.array(anyPolicy, { maxLength: 5 }), (policies) => {
        const unknown = policiesFor(policies, { ...onCopy, lineage: undefined }).policies
        expect(unknown).toEqual(expect.arrayContaining([...policiesFor(policies, onCopy).policies]))
      })
    )
  })

  it("keep variables of agents that tell their own from it too", () =>
    expect(policiesFor([], onCopy, true).policies.map(({ name }) => name)).toEqual(["ephemeral agents"]))
})

describe("a copy that takes its workload's pods", () => {
  const blocked = { block: ["copy-target-scale-down"] }
  const copyOf = (scaledown: boolean) => ({ ...subject, copy: { scaledown } })

  it.each([
    [blocked, true],
    [{ ...blocked, appliesToCopyTargets: true }, true],
    [{ ...blocked, targetPath: "deploy/a" }, true],
    [{ ...blocked, targetPath: "deploy/a/container/other" }, true],
    [{ ...blocked, targetPath: "deploy/b" }, false],
    [{ block: ["steal", "mirror"], appliesToCopyTargets: true }, false]
  ])("is forbidden by %j: %s", (spec, isForbidden) => {
    expect(scaleDownProblem([policy(spec, "calm")], copyOf(true)) !== undefined).toBe(isForbidden)
    expect(scaleDownProblem([policy(spec, "calm")], copyOf(false)), "a copy beside its workload").toBeUndefined()
    expect(scaleDownProblem([policy(spec, "calm")], subject), "no copy").toBeUndefined()
  })

  it("is forbidden in the published words, with what can be done", () => {
    expect(scaleDownProblem([policy({}), policy(blocked, "calm")], copyOf(true))).toBe(
      "Operation was blocked by policy `calm`: no copy may take the pods of this target (copy-target-scale-down). " +
        "Take feature.copy_target.scale_down out, or ask an administrator."
    )
  })

  it("is forbidden if any policy forbids it, whatever else they say", () => {
    fc.assert(
      fc.property(fc.array(anyPolicy, { maxLength: 5 }), (policies) => {
        const blocks = policies.some((rules) => rules.blocks.has("copy-target-scale-down"))
        expect(scaleDownProblem(policies, copyOf(true)) !== undefined).toBe(blocks)
      })
    )
  })
})
