/** The program of a process that tells random stories to planted mistakes, one mistake after the other. */

import { serveWork } from "../../../lab/simulation/command/serve-work.ts"
import { type Finding, mutants, type Telling } from "./mutant.ts"
import { plant } from "./plant.ts"

plant(mutants)
const { tellerOf } = await import("./tell-story.ts")

serveWork(async ({ mutant: { invariants, name, series }, from, to }: Telling): Promise<{ readonly found: Finding }> => {
  const tell = await tellerOf(series, name)
  for (let story = from; story <= to; story++) {
    const [broken] = await tell(story)
    if (broken !== undefined && invariants.includes(broken.id))
      return { found: { story, id: broken.id, detail: broken.detail } }
  }
  return { found: undefined }
})
