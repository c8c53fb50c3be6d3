/** Random stories of members that dial out, the same for every commit. */

import { describe } from "vitest"
import seeds from "../seeds.json" with { type: "json" }
import { testRandomStories } from "./random-stories.ts"

describe("random stories of members that dial out", () => {
  testRandomStories(seeds.stories.outbound)
})
