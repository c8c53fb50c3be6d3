import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { scenarioText } from "../../lab/simulation/command/scenario-file.ts"
import { runStory } from "../../lab/simulation/story/run-story.ts"
import { shrinkStory } from "../../lab/simulation/story/shrink-story.ts"
import type { Story, StoryResult } from "../../lab/simulation/story/story.ts"
import { type SweepRun, sweepRuns } from "../../lab/simulation/story/sweep.ts"

/** Runs that the search for a shorter story may take: some 30 s. */
const shrinkBudget = 300

const violationOf = (story: Story): string | undefined => {
  try {
    return runStory(story).violations[0]?.id
  } catch {
    return undefined
  }
}

/**
 * What a test says of a story that broke something: the sentence, the shortest transcript, the command that replays it.
 */
export const explain = (story: Story, result: StoryResult, sweepRun?: SweepRun): string => {
  const [broken] = result.violations
  if (broken === undefined) return "nothing broke"
  // A sweep counts calls, so a story with fewer lines has its fault elsewhere: it is told as it is.
  const shortest =
    sweepRun === undefined
      ? shrinkStory(story, (candidate) => violationOf(candidate) === broken.id, shrinkBudget)
      : story
  const file = join(mkdtempSync(join(tmpdir(), "braid-story-")), "story.txt")
  writeFileSync(file, scenarioText(shortest, [`broke ${broken.id}`], sweepRun?.name))
  const { transcript } = runStory(shortest, sweepRun === undefined ? {} : { faults: sweepRun.faults() })
  return [
    `${broken.id}: ${broken.sentence}`,
    broken.detail,
    ...(sweepRun === undefined ? [] : [sweepRun.name]),
    "",
    ...transcript,
    "",
    `replay it: npm run simulate -- --scenario ${file}`
  ].join("\n")
}

/** Runs a story, as one run of its sweep if it names one; throws what is to be told of it if it breaks something. */
export const expectToHold = (story: Story, sweepName?: string): void => {
  const sweepRun = sweepName === undefined ? undefined : sweepRuns(story).find(({ name }) => name === sweepName)
  if (sweepName !== undefined && sweepRun === undefined)
    throw new Error(`the story's sweep has no run ${JSON.stringify(sweepName)}`)
  const result = runStory(story, sweepRun === undefined ? {} : { faults: sweepRun.faults() })
  if (result.violations.length > 0) throw new Error(explain(story, result, sweepRun))
}
