/**
 * `node tell-stories.ts <from> <to> <invariant>…`: tells random stories in a copy of the program, and prints the first
 * that breaks one of the invariants as JSON.
 */

import { randomStory, usualRandomStory } from "../../../lab/simulation/story/random-story.ts"
import { runStory } from "../../../lab/simulation/story/run-story.ts"

const [from, to, ...invariants] = process.argv.slice(2)

const tell = () => {
  for (let story = Number(from); story <= Number(to); story++) {
    const [broken] = runStory(randomStory(String(story), usualRandomStory)).violations
    if (broken !== undefined && invariants.includes(broken.id))
      return { story, id: broken.id, sentence: broken.sentence, detail: broken.detail }
  }
  return null
}

process.stdout.write(JSON.stringify(tell()))
