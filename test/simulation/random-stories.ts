/** Random stories as tests, with their seeds in the names. */

import { it } from "vitest"
import { expectRandomToHold } from "./failing-story.ts"

const perTest = 100

/** Tests of 100 random stories each, so that progress is visible. Story n of a series has the seed `<series><n>`. */
export const testRandomStories = (series: string, count: number): void => {
  for (let from = 1; from <= count; from += perTest) {
    const to = Math.min(count, from + perTest - 1)
    it(`stories ${series}${from} to ${series}${to}`, { timeout: 600_000 }, () => {
      for (let number = from; number <= to; number++) expectRandomToHold(`${series}${number}`)
    })
  }
}
