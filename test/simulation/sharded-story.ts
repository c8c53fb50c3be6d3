/** Random stories of a primary with three replicas that share its members: other acts than those of all others. */

import { randomStory, usualRandomStory } from "../../lab/simulation/story/random-story.ts"
import type { Story } from "../../lab/simulation/story/story.ts"

/** The number of replicas. */
export const replicas = 3

export const shardedStory = (seed: string): Story => {
  const { lines, ...story } = randomStory(`sharded-${seed}`, usualRandomStory)
  const primary = lines.flatMap((line) => /^cluster (\S+) default primary\b/u.exec(line)?.[1] ?? [])[0] ?? "primary"
  const others = lines.filter((line) => !line.startsWith(`replicas ${primary} `))
  return { ...story, lines: [`replicas ${primary} ${replicas}`, "sharding", ...others] }
}
