import { describe } from "vitest"
import { testRandomStories } from "../simulation/random-stories.ts"

describe("many random stories", () => {
  testRandomStories("", 10_000)
})
