import { describe, expect, it } from "vitest"
import { maxStories, mutants } from "../simulation/mutants/mutant.ts"
import { withTellers } from "../simulation/mutants/with-tellers.ts"

describe.concurrent("planted mistakes from the first story on", () => {
  const find = withTellers()

  for (const mutant of mutants) {
    it(`${mutant.mistake}: found within ${maxStories} stories`, async () => {
      const finding = await find({ mutant, from: 1, to: maxStories })
      expect(finding).toMatchObject({ story: mutant.found.story, id: mutant.found.invariant })
    })
  }
})
