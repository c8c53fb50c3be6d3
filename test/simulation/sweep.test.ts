/** A sample of the sweep of the step-by-step example: one fault at one call in each run. */

import { describe, expect, it } from "vitest"
import { sweepRuns } from "../../lab/simulation/story/sweep.ts"
import { sweptExample, testSweep } from "./swept-story.ts"

const runs = sweepRuns(sweptExample.story)
/** Number of runs here, at even distances, beside all crashes at writes. `npm run test:long` does all runs. */
const sampled = 300

describe("sweep of the step-by-step example", () => {
  it("has a run for each call and each way to fail", () => {
    expect(runs.length).toBeGreaterThan(1_000)
  })

  const writesCrash = /\((create|patch|delete) .*: crash (before|after)$/
  const step = Math.ceil(runs.length / sampled)
  testSweep(
    sweptExample,
    runs.filter(({ name }, i) => i % step === 0 || writesCrash.test(name))
  )
})
