import { describe } from "vitest"
import { testSweep } from "../simulation/swept-story.ts"

describe("whole sweep of the step-by-step example", () => {
  testSweep()
})
