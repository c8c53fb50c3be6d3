/** One failing call in the life of a branch of a database: the invariants hold. */

import { describe } from "vitest"
import { testOneFailureWithBranches } from "./failing-with-branches.ts"

// Each call once. `npm run test:long` fails each call in each way.
describe("one call that fails in the life of a branch", () => {
  testOneFailureWithBranches(false)
})
