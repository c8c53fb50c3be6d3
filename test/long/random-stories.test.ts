import { describe } from "vitest"
import { testRandomStories } from "../simulation/random-stories.ts"

describe("many random stories", () => {
  testRandomStories(Array.from({ length: 10_000 }, (_, i) => `${i + 1}`))
})
