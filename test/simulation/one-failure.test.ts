/** One failing call at the start of a session never makes a user's request fail. */

import { describe } from "vitest"
import { testOneFailure } from "./failing-start.ts"

// Each call once. `npm run test:long` fails each call in each way.
describe("one call that fails while a session starts", () => {
  testOneFailure(false)
})
