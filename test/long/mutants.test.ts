import { describe, expect, it } from "vitest"
import { findMistake, mostStories, mutants } from "../simulation/mutants/mutant.ts"

describe.concurrent("planted mistakes from the first story on", { timeout: 1_800_000 }, () => {
  for (const mutant of mutants) {
    it(`${mutant.mistake}: found within ${mostStories} stories`, async () => {
      const finding = await findMistake(mutant, { from: 1, to: mostStories })
      expect(finding).toMatchObject({ story: mutant.found.story, id: mutant.found.invariant })
    })
  }
})
