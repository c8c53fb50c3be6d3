import { describe, expect, it } from "vitest"
import { childMarks, childOwner, parentsTold } from "../../../src/domain/sessions/child-owner.ts"

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
  ] as const)("named %s with the UID %s: %s", (parentName, parentUid, owner) =>
    expect(childOwner({ parentName, parentUid }, parent)).toBe(owner)
  )
})

describe("what an object says about its parent", () => {
  const annotations = { "operator.metalbear.co/multi-cluster-parent-uid": "now" }
  it.each([
    ["a child", { metadata: { annotations }, spec: { multiClusterParentName: "mc-1" } }, "mc-1", "now"],
    ["a session of its own", { metadata: {}, spec: { multiClusterParentName: null } }, undefined, undefined],
    ["no spec", { metadata: { annotations: null } }, undefined, undefined],
    ["garbage", { metadata: { annotations }, spec: { multiClusterParentName: 5 } }, undefined, "now"],
    ["more garbage", { metadata: {}, spec: "mc-1" }, undefined, undefined]
  ])("%s", (_what, object, parentName, parentUid) => expect(childMarks(object)).toEqual({ parentName, parentUid }))
})

describe("news of a session's object are for", () => {
  const name = "mc-00000000000000ff"
  const object = (own: string, parent: unknown) => ({
    metadata: { name: own },
    spec: { multiClusterParentName: parent }
  })
  it.each([
    ["its parent", object(`${name}-a`, name), [name]],
    ["both parents, if somebody has edited it", object(`${name}-b-2`, "nobody"), ["nobody", name]],
    ["the parent that made it, if it names none", object(`${name}-a`, null), [name]],
    ["no parent, if a user has made it directly", object("00000000000000ff", null), []],
    ["no parent, if its name is no child's", object(`x${name}-a`, 5), []]
  ])("%s", (_what, child, parents) => expect([...parentsTold(child)]).toEqual(parents))
})
