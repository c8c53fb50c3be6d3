/** Random stories as tests, with their seeds in the names. */

import { it } from "vitest"
import { expectRandomToHold } from "./failing-story.ts"

const perTest = 50

/** Tests of some stories each, so that progress is visible. */
export const testRandomStories = (seeds: ReadonlyArray<string>): void => {
  for (let from = 0; from < seeds.length; from += perTest) {
    const some = seeds.slice(from, from + perTest)
    it(`stories ${some[0]} to ${some.at(-1)}`, () => some.forEach(expectRandomToHold))
  }
}
