import { describe } from "vitest"
import { testOneFailure } from "../simulation/failing-start.ts"
import { testOneFailureWithBranches } from "../simulation/failing-with-branches.ts"

describe("each call that fails in each way while a session starts", () => {
  testOneFailure(true)
})

describe("each call that fails in each way in the life of a branch", () => {
  testOneFailureWithBranches(true)
})
