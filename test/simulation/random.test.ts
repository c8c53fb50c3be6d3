/** Random stories: the same in every local run, others for each commit in CI. */

import { describe } from "vitest"
import { isCi, testedCommit } from "../support/tested-commit.ts"
import { testRandomStories } from "./random-stories.ts"

describe("random stories", () => {
  // Each commit sees other stories, and the same stories when it is tested again.
  if (isCi) testRandomStories(`${testedCommit().slice(0, 12)}-`, 1_000)
  else testRandomStories("", 500)
})
