/** Stories of a landing: chosen by what they cover, within the budget. */

import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { chooseStories, costOf, type ExploredStory } from "../../../../lab/simulation/explore/choose-stories.ts"

const story = (seed: string, steps: number, ...functions: ReadonlyArray<string>): ExploredStory => ({
  kind: "usual",
  seed,
  steps,
  functions
})
const seeds = (stories: ReadonlyArray<ExploredStory>) => stories.map(({ seed }) => seed).toSorted()

describe("chooseStories", () => {
  it("takes the cheaper of two stories that cover the same, and each that covers what no other does", () => {
    const stories = [
      story("dear", 9_000, "src/a.ts 0-90 0-90:1"),
      story("cheap", 1_000, "src/a.ts 0-90 0-90:1"),
      story("other", 9_000, "src/a.ts 0-90 0-90:1", "src/b.ts 0-50 0-50:1")
    ]
    const { chosen, parts } = chooseStories(stories, costOf({ steps: 1_000 }) + costOf({ steps: 9_000 }))
    expect(seeds(chosen)).toEqual(["cheap", "other"])
    expect(parts).toEqual({ explored: 2, chosen: 2 })
  })

  it("knows that a part without a count of its own ran as often as the part around it", () => {
    const stories = [
      story("without", 1_000, "src/a.ts 0-90 0-90:2 10-20:0"),
      story("with", 1_000, "src/a.ts 0-90 0-90:2")
    ]
    const { chosen, parts } = chooseStories(stories, costOf({ steps: 1_000 }))
    expect(seeds(chosen)).toEqual(["with"])
    expect(parts).toEqual({ explored: 2, chosen: 2 })
  })

  it("prefers another order of magnitude to what was seen, and more of the same to nothing", () => {
    const stories = [
      story("once", 1_000, "src/a.ts 0-90 0-90:1"),
      story("once again", 1_001, "src/a.ts 0-90 0-90:1"),
      story("often", 1_002, "src/a.ts 0-90 0-90:4")
    ]
    const two = chooseStories(stories, 2 * costOf({ steps: 1_002 }))
    expect(seeds(two.chosen)).toEqual(["often", "once"])
    expect(two.counts).toEqual({ explored: 2, chosen: 2 })
    expect(chooseStories(stories, 1_000_000).chosen).toHaveLength(3)
  })

  it("never costs more than the budget, takes no story twice, and misses nothing if all fit", () => {
    const part = fc.tuple(fc.integer({ min: 0, max: 4 }), fc.integer({ min: 0, max: 3 }))
    const explored = fc.array(fc.record({ steps: fc.nat(20_000), parts: fc.array(part, { minLength: 1 }) }))
    fc.assert(
      fc.property(explored, fc.nat(100_000), (drawn, budget) => {
        const stories = drawn.map(({ parts, steps }, i) =>
          story(`${i}`, steps, ...parts.map(([file, magnitude]) => `src/${file}.ts 0-9 0-9:1 3-5:${magnitude}`))
        )
        const cost = (some: ReadonlyArray<ExploredStory>): number => some.reduce((sum, one) => sum + costOf(one), 0)
        const { chosen } = chooseStories(stories, budget)
        expect(cost(chosen)).toBeLessThanOrEqual(budget)
        expect(new Set(chosen).size).toBe(chosen.length)
        const all = chooseStories(stories, cost(stories))
        expect(all.chosen).toHaveLength(stories.length)
        expect(all.parts.chosen).toBe(all.parts.explored)
      })
    )
  })
})
