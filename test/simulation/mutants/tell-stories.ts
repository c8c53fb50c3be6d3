/**
 * `node tell-stories.ts <usual|sharded> <from> <to> <invariant>…`: tells random stories in a copy of the program, and
 * prints the first that breaks one of the invariants as JSON.
 */

import { randomStory, usualRandomStory } from "../../../lab/simulation/story/random-story.ts"
import { runStory } from "../../../lab/simulation/story/run-story.ts"
import type { Story } from "../../../lab/simulation/story/story.ts"
import { shardedStory } from "../sharded-story.ts"

const [series, from, to, ...invariants] = process.argv.slice(2)

const storyOf = (seed: string): Story =>
  series === "sharded" ? shardedStory(seed) : randomStory(seed, usualRandomStory)

const tell = () => {
  for (let story = Number(from); story <= Number(to); story++) {
    const [broken] = runStory(storyOf(String(story))).violations
    if (broken !== undefined && invariants.includes(broken.id))
      return { story, id: broken.id, sentence: broken.sentence, detail: broken.detail }
  }
  return null
}

process.stdout.write(JSON.stringify(tell()))
