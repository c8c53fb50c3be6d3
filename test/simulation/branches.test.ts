/** Random stories of branches of databases: small worlds, the same for every commit. */

import { describe } from "vitest"
import seeds from "../seeds.json" with { type: "json" }
import { testRandomStories } from "./random-stories.ts"

describe("random stories of branches", () => {
  testRandomStories(seeds.stories.branches)
})
