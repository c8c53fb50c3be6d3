import { describe } from "vitest"
import { sweptScenario, testSweep } from "../simulation/swept-story.ts"

describe("whole sweep of the RFC's example", () => {
  testSweep(sweptScenario("rfc-example"))
})
