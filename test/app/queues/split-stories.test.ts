import { Effect } from "effect"
import fc from "fast-check"
import { describe, expect } from "vitest"
import { it } from "../../support/effect-it.ts"
import { splitStory, tellSplitStory } from "./split-story.ts"

describe("splits", () => {
  it.effect("lose nothing and leave nothing behind, whatever happens", () =>
    Effect.promise(() =>
      fc.assert(
        fc.asyncProperty(splitStory, async (given) => {
          expect(await tellSplitStory(given)).toEqual([])
        }),
        { numRuns: 12, endOnFailure: true }
      )
    )
  )
})
