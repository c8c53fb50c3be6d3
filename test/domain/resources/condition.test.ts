/** Conditions of a status: when their transition time moves. */

import { describe, expect, it } from "vitest"
import { findCondition, withCondition } from "../../../src/domain/resources/condition.ts"

describe("withCondition", () => {
  const ready = { type: "Ready", status: "True", reason: "R", message: "m" } as const

  it("moves the transition time only with the status and keeps others' conditions", () => {
    const first = withCondition([], ready, 1_000)
    expect(withCondition(first, ready, 2_000)).toBe(first)
    const reworded = withCondition(first, { ...ready, message: "n" }, 2_000)
    expect(findCondition(reworded, "Ready")?.lastTransitionTime).toBe("1970-01-01T00:00:01.000Z")
    const flipped = withCondition(
      [...first, { ...ready, type: "Other", lastTransitionTime: "t" }],
      { ...ready, status: "False" },
      3_000
    )
    expect(flipped.map(({ type, lastTransitionTime }) => [type, lastTransitionTime])).toEqual([
      ["Ready", "1970-01-01T00:00:03.000Z"],
      ["Other", "t"]
    ])
  })

  it("keeps a long message of others short, and does not write it again", () => {
    const long = { ...ready, message: "x\u202e\n".repeat(100_000) }
    const first = withCondition([], long, 1_000)
    expect(first[0]?.message).toHaveLength(1_024)
    expect(first[0]?.message).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u)
    expect(withCondition(first, long, 2_000)).toBe(first)
  })
})
