/** The random story of a seed, which says by its beginning what the story is about. */

import { branchStory } from "./branch-story.ts"
import { outboundStory } from "./outbound-story.ts"
import { randomStory, type RandomStoryOptions } from "./random-story.ts"
import { shardedStory } from "./sharded-story.ts"
import type { Story } from "./story.ts"

/**
 * The kinds of random stories: of all, of branches of databases, of replicas that share their members, of members that
 * dial out.
 */
export const storyKinds = ["usual", "branches", "sharded", "outbound"] as const
export type StoryKind = (typeof storyKinds)[number]

/** A seed whose story is of this kind. `rest` is any text, which for a usual story names no other kind. */
export const seedOf = (kind: StoryKind, rest: string): string => (kind === "usual" ? rest : `${kind}-${rest}`)

/** `size` is of all stories but those of branches, which have a size of their own. */
export const seededStory = (seed: string, size: RandomStoryOptions): Story => {
  if (seed.startsWith("branches")) return branchStory(seed)
  if (seed.startsWith("outbound")) return outboundStory(seed, size)
  return seed.startsWith("sharded") ? shardedStory(seed, size) : randomStory(seed, size)
}
