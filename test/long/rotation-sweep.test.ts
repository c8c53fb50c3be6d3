import { describe } from "vitest"
import { rotationRuns, testRotationSweep } from "../simulation/swept-rotation.ts"

describe("sweep of a renewal, with each way to fail", () => {
  testRotationSweep(rotationRuns())
})
