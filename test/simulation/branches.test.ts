/** Random stories of branches of databases: small worlds, the same in every local run, others for each commit in CI. */

import { describe } from "vitest"
import { branchSeeds } from "../../lab/simulation/story/seeded-story.ts"
import { isCi, testedCommit } from "../support/tested-commit.ts"
import { testRandomStories } from "./random-stories.ts"

describe("random stories of branches", () => {
  if (isCi) testRandomStories(`${branchSeeds}-${testedCommit().slice(0, 12)}-`, 2_000)
  else testRandomStories(`${branchSeeds}-`, 500)
})
