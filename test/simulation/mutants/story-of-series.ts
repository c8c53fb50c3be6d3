/** The story of a number in a series of random stories. */

import { defaultRandomStory } from "../../../lab/simulation/story/random-story.ts"
import { seededStory, seedOf, type StoryKind } from "../../../lab/simulation/story/seeded-story.ts"
import type { Story } from "../../../lab/simulation/story/story.ts"

export const storyOfSeries = (series: StoryKind | undefined, number: number): Story =>
  seededStory(seedOf(series ?? "usual", String(number)), defaultRandomStory)
