/** Random stories of all kinds of worlds, the same for every commit (`npm run explore` draws others). */

import { describe } from "vitest"
import seeds from "../seeds.json" with { type: "json" }
import { testRandomStories } from "./random-stories.ts"

describe("random stories", () => {
  testRandomStories(seeds.stories.usual)
})
