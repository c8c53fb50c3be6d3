import { describe, expect, it } from "vitest"
import { holderIdentity, isPredecessor } from "../../../src/domain/leadership/identity.ts"

describe("the identity of a holder", () => {
  const pod = { name: "mirrord-operator-7d9f-x", uid: "0f5e-1" }
  const mine = holderIdentity(pod, "a1")

  it("tells processes of one pod from each other, and from those of another pod of that name", () => {
    expect(isPredecessor(holderIdentity(pod, "a0"), mine)).toBe(true)
    expect(isPredecessor(mine, mine)).toBe(false)
    expect(isPredecessor(holderIdentity({ ...pod, uid: "0f5e-2" }, "a0"), mine)).toBe(false)
    expect(isPredecessor(holderIdentity({ ...pod, name: "mirrord-operator-7d9f" }, "a0"), mine)).toBe(false)
  })

  it("has nothing to do with holders of other programs", () => {
    for (const holder of ["", "somebody", "mirrord-operator-7d9f-x"]) expect(isPredecessor(holder, mine)).toBe(false)
    expect(isPredecessor("a", "b")).toBe(false)
  })
})
