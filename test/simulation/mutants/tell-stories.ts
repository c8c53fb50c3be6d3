/** The program of a process that tells random stories to planted mistakes, one mistake after the other. */

import { serveWork } from "../../../lab/simulation/command/serve-work.ts"
import { type Finding, mutants, type Telling } from "./mutant.ts"
import { plant } from "./plant.ts"

plant(mutants)
await import("../../../lab/simulation/story/run-story.ts")
const { storyOfSeries } = await import("./story-of-series.ts")

type Program = typeof import("../../../lab/simulation/story/run-story.ts")

serveWork(async ({ mutant: { invariants, name, series }, from, to }: Telling): Promise<{ readonly found: Finding }> => {
  const program: Program = await import(`../../../lab/simulation/story/run-story.ts?planted=${name}`)
  for (let story = from; story <= to; story++) {
    const [broken] = program.runStory(storyOfSeries(series, story)).violations
    if (broken !== undefined && invariants.includes(broken.id))
      return { found: { story, id: broken.id, sentence: broken.sentence, detail: broken.detail } }
  }
  return { found: undefined }
})
