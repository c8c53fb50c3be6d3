/** A sample of the sweep of the step-by-step example: one fault at one call in each run. */

import { describe, expect, it } from "vitest"
import { sweepRuns } from "../../lab/simulation/story/sweep.ts"
import { sampleOf, sweptExample, testSweep } from "./swept-story.ts"

const runs = sweepRuns(sweptExample.story)
/** After a write there is something that the next process must find. */
const isCrashAfterWrite = /\((create|patch|delete) .*: crash after$/

describe("sweep of the step-by-step example", () => {
  it("has a run for each call and each way to fail", () => {
    expect(runs.length).toBeGreaterThan(1_000)
  })

  // `npm run test:long` does all runs.
  const crashes = runs.filter((run) => isCrashAfterWrite.test(run.name))
  testSweep(sweptExample, [...sampleOf(crashes, 3), ...sampleOf(runs, 151)])
})
