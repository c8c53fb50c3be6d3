/** Random stories of a primary with three replicas that share its members: other acts than those of all others. */

import { type RandomStoryOptions, randomStory } from "./random-story.ts"
import type { Story } from "./story.ts"

/** The number of replicas. */
export const sharingReplicas = 3

export const shardedStory = (seed: string, size: RandomStoryOptions): Story => {
  const { lines, ...story } = randomStory(seed, size)
  const primary = lines.flatMap((line) => /^cluster (\S+) default primary\b/u.exec(line)?.[1] ?? [])[0] ?? "primary"
  const others = lines.filter((line) => !line.startsWith(`replicas ${primary} `))
  return { ...story, lines: [`replicas ${primary} ${sharingReplicas}`, "sharding", ...others] }
}
