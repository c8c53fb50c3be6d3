import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { protectedNamespaces, protectedTarget } from "../../../src/domain/targets/protected-namespaces.ts"

const usual = protectedNamespaces({ operator: "mirrord", agents: "agents", allowed: [] })

describe("protected namespaces", () => {
  it.each([
    ["mirrord", "the operator runs there"],
    ["agents", "the agents run there"],
    ["kube-system", "the cluster's own programs run there"]
  ])("refuse a target in %s, with the reason and the cure", (namespace, why) => {
    expect(protectedTarget(usual, namespace, false)).toEqual({
      reason: "NotAllowed",
      message:
        `targets in namespace ${namespace} are refused, since ${why}; name a workload of another namespace, or have ` +
        `${namespace} added to the chart's value targets.allowedNamespaces in that cluster`
    })
  })

  it("are the operator's where the agents share its namespace", () => {
    const shared = protectedNamespaces({ operator: "mirrord", agents: "mirrord", allowed: [] })
    expect([...shared.keys()].toSorted()).toEqual(["kube-system", "mirrord"])
    expect(shared.get("mirrord")).toBe("the operator runs there")
  })

  it("say nothing of other namespaces, nor of sessions without a target", () => {
    const name = fc.stringMatching(/^[a-z][-a-z0-9]{0,20}[a-z0-9]$/u)
    fc.assert(
      fc.property(name, fc.boolean(), (namespace, isTargetless) => {
        const expected = !isTargetless && ["mirrord", "agents", "kube-system"].includes(namespace)
        expect(protectedTarget(usual, namespace, isTargetless) !== undefined).toBe(expected)
      })
    )
    for (const namespace of usual.keys()) expect(protectedTarget(usual, namespace, true)).toBeUndefined()
  })

  it("are open where a value allows them, each for itself", () => {
    const open = protectedNamespaces({ operator: "mirrord", agents: "agents", allowed: ["kube-system", "other"] })
    expect(protectedTarget(open, "kube-system", false)).toBeUndefined()
    expect(protectedTarget(open, "mirrord", false)).toBeDefined()
    expect(protectedTarget(open, "agents", false)).toBeDefined()
  })
})
