/** The difference of two objects as a merge patch. */

import { describe, expect, it } from "vitest"
import { mergePatch } from "../../../src/domain/resources/merge-patch.ts"

describe("mergePatch", () => {
  it("mentions only what differs and removes with null", () => {
    expect(mergePatch({ a: 1, b: { c: 1, d: 2 } }, { a: 1, b: { c: 1 } })).toEqual({ b: { d: null } })
    expect(mergePatch({ a: [1, { b: 1 }] }, { a: [1, { b: 1 }] })).toBeUndefined()
    expect(mergePatch({ phase: undefined }, { phase: "Ready" })).toEqual({ phase: "Ready" })
  })
})
