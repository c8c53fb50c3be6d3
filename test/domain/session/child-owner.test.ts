import { describe, expect, it } from "vitest"
import { childMarks, childOwner } from "../../../src/domain/session/child-owner.ts"

const parent = { name: "mc-1", uid: "now" }

describe("whose a child is", () => {
  it.each([
    ["mc-1", "now", "This"],
    ["edited", "now", "This"],
    [undefined, "now", "This"],
    // Its annotation was removed: the name decides.
    ["mc-1", undefined, "This"],
    ["mc-1", "before", "Earlier"],
    ["mc-2", undefined, "Other"],
    ["mc-2", "before", "Other"],
    [undefined, undefined, "Other"]
  ] as const)("named %s with the UID %s: %s", (parentName, parentUid, owner) => {
    expect(childOwner({ parentName, parentUid }, parent)).toBe(owner)
  })
})

describe("what an object says about its parent", () => {
  const annotations = { "operator.metalbear.co/multi-cluster-parent-uid": "now" }
  it.each([
    ["a child", { metadata: { annotations }, spec: { multiClusterParentName: "mc-1" } }, "mc-1", "now"],
    ["a session of its own", { metadata: {}, spec: { multiClusterParentName: null } }, undefined, undefined],
    ["no spec", { metadata: { annotations: null } }, undefined, undefined],
    ["garbage", { metadata: { annotations }, spec: { multiClusterParentName: 5 } }, undefined, "now"],
    ["more garbage", { metadata: {}, spec: "mc-1" }, undefined, undefined]
  ])("%s", (_what, object, parentName, parentUid) => {
    expect(childMarks(object)).toEqual({ parentName, parentUid })
  })
})
