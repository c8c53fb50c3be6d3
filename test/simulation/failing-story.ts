/**
 * Explains a story that broke something to the reader of a test: the shortest story, its transcript, the command that
 * replays it.
 */

import { mkdtempSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { scenarioText } from "../../lab/simulation/command/scenario-file.ts"
import { runStory } from "../../lab/simulation/story/run-story.ts"
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

/** The text about a story that broke something: the sentence, the shortest transcript, the command that replays it. */
export const explain = (story: Story, result: StoryResult, sweepRun?: SweepRun): string => {
  const [broken] = result.violations
  if (broken === undefined) return "nothing broke"
  // A sweep counts calls, so in a story with fewer lines the fault would be elsewhere. The story is shown unshrunk.
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

/** Runs a story, or one run of its sweep if one is named; throws the explanation if the story breaks something. */
export const expectToHold = (story: Story, sweepName?: string): void => {
  const sweepRun = sweepName === undefined ? undefined : sweepRuns(story).find(({ name }) => name === sweepName)
  if (sweepName !== undefined && sweepRun === undefined)
    throw new Error(`the story's sweep has no run ${JSON.stringify(sweepName)}`)
  const result = runStory(story, sweepRun === undefined ? {} : { faults: sweepRun.faults() })
  if (result.violations.length > 0) throw new Error(explain(story, result, sweepRun))
}
