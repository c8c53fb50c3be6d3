import { Effect } from "effect"
import fc from "fast-check"
import { describe, expect } from "vitest"
import { it } from "../../support/effect-it.ts"
import { splitStory, tellSplitStory } from "./split-story.ts"

const stories = (isShared: boolean, numRuns: number) =>
  Effect.promise(() =>
    fc.assert(
      fc.asyncProperty(splitStory, async (given) => {
        expect(await tellSplitStory(given, isShared)).toEqual([])
      }),
      { numRuns, endOnFailure: true }
    )
  )

describe("splits", () => {
  it.effect("lose nothing and leave nothing behind, whatever happens", () => stories(false, 12))

  it.effect("do so where replicas share the queues, which are never read by two", () => stories(true, 8))
})
