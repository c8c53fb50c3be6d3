import { describe } from "vitest"
import { sweptBranch, sweptExample, testSweep } from "../simulation/swept-story.ts"

describe("whole sweep of the step-by-step example", () => {
  testSweep(sweptExample)
})

describe("whole sweep of the example of a branch", () => {
  testSweep(sweptBranch)
})
