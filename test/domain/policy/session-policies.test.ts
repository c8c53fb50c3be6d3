import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { mustKnowLineage, policiesFor, policyNotes } from "../../../src/domain/policy/session-policies.ts"
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
