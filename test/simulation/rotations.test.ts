/** Hundreds of lives of tokens, with everything that can hit a renewal: no operation of a user fails. */

import { describe, expect, it } from "vitest"
import { rotationStory } from "./rotation-story.ts"
import { runRotations } from "./run-rotations.ts"

describe("while members' tokens are renewed", () => {
  // The same stories for every commit: one that finds something goes to the museum.
  it.each(["1", "2", "3"])("no operation of a user fails: story %s", { timeout: 600_000 }, (seed) => {
    const { operations, story } = rotationStory(seed, { clusters: 4, hours: 3 })
    const { failure, granted } = runRotations(story)
    expect(failure ?? "").toBe("")
    expect(granted).toBeGreaterThan(90)
    expect(operations).toBeGreaterThan(300)
  })

  it.each(["1", "2"])(
    "nor where clouds make them, or certificates are replaced: story %s",
    { timeout: 600_000 },
    (seed) => {
      const { operations, story } = rotationStory(seed, { clusters: 4, hours: 3, isWithoutAccounts: true })
      const { failure, granted } = runRotations(story)
      expect(failure ?? "").toBe("")
      expect(granted).toBe(0)
      expect(operations).toBeGreaterThan(300)
    }
  )
})
