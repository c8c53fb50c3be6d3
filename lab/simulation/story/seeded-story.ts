/** The random story of a seed, which says by its beginning what the story is about. */

import { branchStory } from "./branch-story.ts"
import { randomStory, type RandomStoryOptions } from "./random-story.ts"
import type { Story } from "./story.ts"

/** Seeds of stories of branches of databases begin with this. */
export const branchSeeds = "branches"

/** `size` is of usual stories; those of branches have a size of their own. */
export const seededStory = (seed: string, size: RandomStoryOptions): Story =>
  seed.startsWith(branchSeeds) ? branchStory(seed) : randomStory(seed, size)
