/** The kind of a random story, by the beginning of its seed. */

import { expect, it } from "vitest"
import { defaultRandomStory } from "../../../../lab/simulation/story/random-story.ts"
import { seededStory, seedOf } from "../../../../lab/simulation/story/seeded-story.ts"

it("tells stories of each kind", () => {
  const lines = (seed: string) => seededStory(seed, defaultRandomStory).lines
  expect(lines(seedOf("branches", "7"))).toContain("branches")
  expect(lines(seedOf("sharded", "7"))).toContain("sharding")
  expect(lines(seedOf("usual", "7"))).not.toEqual(expect.arrayContaining(["branches"]))
  expect(lines(seedOf("usual", "7"))).not.toEqual(expect.arrayContaining(["sharding"]))
})
