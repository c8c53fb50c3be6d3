import { describe, expect, it } from "vitest"
import { childOwner } from "../../../src/domain/session/child-owner.ts"

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
