/** Tells the story of a number in a series to the program, as it is or with a planted mistake. */

import { defaultRandomStory } from "../../../lab/simulation/story/random-story.ts"
import { seededStory, seedOf } from "../../../lab/simulation/story/seeded-story.ts"
import type { Series } from "./mutant.ts"

/** A rule that a story broke. */
interface Broken {
  readonly id: string
  readonly detail: string
}

/** Gives the rules that a story broke, in the order in which that was seen. */
export type TellStory = (story: number) => ReadonlyArray<Broken> | Promise<ReadonlyArray<Broken>>

type Simulation = typeof import("../../../lab/simulation/story/run-story.ts")
type SplitStories = typeof import("../../app/queues/split-story.ts")

/** `mistake`: the name of the planted mistake, which `plant` knows; the program as it is if it is `undefined`. */
export const tellerOf = async (series: Series = "usual", mistake?: string): Promise<TellStory> => {
  const planted = mistake === undefined ? "" : `?planted=${mistake}`
  if (series === "splits" || series === "shared splits") {
    // Which files a mistake changes is known from the imports of the program as it is.
    await import("../../app/queues/split-story.ts")
    const { splitStoryOf, tellSplitStory }: SplitStories = await import(`../../app/queues/split-story.ts${planted}`)
    return (story) => tellSplitStory(splitStoryOf(story), series === "shared splits")
  }
  await import("../../../lab/simulation/story/run-story.ts")
  const { runStory }: Simulation = await import(`../../../lab/simulation/story/run-story.ts${planted}`)
  return (story) => runStory(seededStory(seedOf(series, String(story)), defaultRandomStory)).violations
}
