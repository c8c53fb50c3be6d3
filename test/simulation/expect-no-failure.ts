import { expect } from "vitest"
import { rotationStory } from "./rotation-story.ts"
import { runRotations } from "./run-rotations.ts"

/** Expects that users notice nothing of hours of renewals: of accounts' tokens, or of all other credentials. */
export const expectNoFailure = (seed: string, isOfAccounts: boolean, hours = 3): void => {
  const { operations, story } = rotationStory(seed, { clusters: 4, hours, isWithoutAccounts: !isOfAccounts })
  const { failure, granted } = runRotations(story)
  expect(failure ?? "").toBe("")
  if (isOfAccounts) expect(granted).toBeGreaterThan(30 * hours)
  else expect(granted).toBe(0)
  expect(operations).toBeGreaterThan(100 * hours)
}
