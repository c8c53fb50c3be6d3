import { describe, expect, it } from "vitest"
import {
  hoursSaved,
  readMinutes,
  roundedCount,
  defaultMinutes
} from "../../../src/domain/usage/return-on-investment.ts"

describe("what sessions save", () => {
  it.each([
    [0, "0"],
    [1, "10"],
    [10, "10"],
    [95, "100"],
    [100, "100"],
    [101, "200"],
    [1000, "1K"],
    [1001, "1.1K"]
  ])("shows %i sessions as %s", (count, shown) => {
    expect(roundedCount(count)).toBe(shown)
  })

  it("is computed from exact counts", () => {
    const estimate = { userMinutes: defaultMinutes, ciMinutes: 30 }
    expect(hoursSaved({ userSessions: 101, ciSessions: 3 }, estimate)).toEqual({ user: 25.25, ci: 1.5, total: 26.75 })
  })

  it("takes no estimate that is no number", () => {
    expect(["", " ", "-1", "x", "NaN", "Infinity", "7.5"].map(readMinutes)).toEqual([
      ...Array.from({ length: 6 }, () => undefined),
      7.5
    ])
  })
})
