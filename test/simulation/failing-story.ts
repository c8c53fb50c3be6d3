/**
 * Explains a story that broke something to the reader of a test: the shortest story, its transcript, and a command that
 * replays it from a clone alone.
 */

import { replayOfRandom, storyText } from "../../lab/simulation/command/failure.ts"
import { defaultRandomStory } from "../../lab/simulation/story/random-story.ts"
import { runStory } from "../../lab/simulation/story/run-story.ts"
import { seededStory } from "../../lab/simulation/story/seeded-story.ts"
import { shrinkStory } from "../../lab/simulation/story/shrink-story.ts"
import type { Story, StoryResult } from "../../lab/simulation/story/story.ts"
import { type SweepRun, sweepRuns } from "../../lab/simulation/story/sweep.ts"

/** Most runs of the search for a shorter story; they take some 30 s. */
const shrinkBudget = 300

const violationOf = (story: Story): string | undefined => {
  try {
    return runStory(story).violations[0]?.id
  } catch {
    return undefined
  }
}

/** A story, the run of its sweep if it is one, and the command that plays it again. */
export interface TestedStory {
  readonly story: Story
  readonly sweepRun?: SweepRun
  readonly replay: string
}

/** The text about a story that broke something: sentence, shortest story, and the command that replays it. */
export const explain = ({ replay, story, sweepRun }: TestedStory, result: StoryResult): string => {
  const [broken] = result.violations
  if (broken === undefined) return "nothing broke"
  // A sweep counts calls, so in a story with fewer lines the fault would be elsewhere. The story is shown unshrunk.
  const shortest =
    sweepRun === undefined
      ? shrinkStory(story, (candidate) => violationOf(candidate) === broken.id, shrinkBudget)
      : story
  const { transcript } = runStory(shortest, sweepRun === undefined ? {} : { faults: sweepRun.faults() })
  return [
    `${broken.id}: ${broken.sentence}`,
    broken.detail,
    ...(sweepRun === undefined ? [] : [sweepRun.name]),
    ...storyText(story, { story: shortest, transcript }),
    `  replay: ${replay}`
  ].join("\n")
}

const runTested = (tested: TestedStory): void => {
  const { story, sweepRun } = tested
  const result = runStory(story, sweepRun === undefined ? {} : { faults: sweepRun.faults() })
  if (result.violations.length > 0) throw new Error(explain(tested, result))
}

/** Runs the random story of a seed; throws the explanation if it breaks something. */
export const expectRandomToHold = (seed: string): void =>
  runTested({ story: seededStory(seed, defaultRandomStory), replay: replayOfRandom(seed, defaultRandomStory) })

/** As {@link expectRandomToHold}, for the story of a `file`, or one run of its sweep if the file names one. */
export const expectToHold = (story: Story, file: string, sweepName?: string): void => {
  const sweepRun = sweepName === undefined ? undefined : sweepRuns(story).find(({ name }) => name === sweepName)
  if (sweepName !== undefined && sweepRun === undefined)
    throw new Error(`the story's sweep has no run ${JSON.stringify(sweepName)}`)
  const replay = `npm run simulate -- --scenario ${file}`
  runTested({ story, replay, ...(sweepRun === undefined ? {} : { sweepRun }) })
}
