/**
 * `node tell-stories.ts <usual|sharded|branches> <from> <to> <invariant>…`: tells random stories in a copy of the
 * program, and prints the first that breaks one of the invariants as JSON.
 */

import { runStory } from "../../../lab/simulation/story/run-story.ts"
import { storyOfSeries } from "./story-of-series.ts"

const [series, from, to, ...invariants] = process.argv.slice(2)

const tell = () => {
  for (let story = Number(from); story <= Number(to); story++) {
    const [broken] = runStory(storyOfSeries(series, story)).violations
    if (broken !== undefined && invariants.includes(broken.id))
      return { story, id: broken.id, sentence: broken.sentence, detail: broken.detail }
  }
  return null
}

process.stdout.write(JSON.stringify(tell()))
