/** Dozens of lives of tokens, with everything that can hit a renewal: no operation of a user fails. */

import { describe, it } from "vitest"
import { expectNoFailure } from "./expect-no-failure.ts"

describe("while members' tokens are renewed", () => {
  // The same stories for every commit: one that finds something goes to the museum. test/long has more.
  it.each(["1"])("no operation of a user fails: story %s", (seed) => expectNoFailure(seed, true, 1))

  it.each(["1"])("nor where clouds make them, or certificates are replaced: story %s", (seed) =>
    expectNoFailure(seed, false, 1)
  )
})
