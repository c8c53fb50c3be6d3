/** The story of a number in a series of random stories. */

import { branchStory } from "../../../lab/simulation/story/branch-story.ts"
import { randomStory, usualRandomStory } from "../../../lab/simulation/story/random-story.ts"
import { branchSeeds } from "../../../lab/simulation/story/seeded-story.ts"
import type { Story } from "../../../lab/simulation/story/story.ts"
import { shardedStory } from "../sharded-story.ts"

export const storyOfSeries = (series: string | undefined, number: number): Story => {
  switch (series) {
    case "sharded":
      return shardedStory(String(number))
    case "branches":
      return branchStory(`${branchSeeds}-${number}`)
    default:
      return randomStory(String(number), usualRandomStory)
  }
}
