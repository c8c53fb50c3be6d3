import { describe, it } from "vitest"
import { expectNoFailure } from "../simulation/expect-no-failure.ts"

describe("more stories of members' tokens that are renewed", () => {
  it.each(["2", "3"])("story %s", (seed) => expectNoFailure(seed, true))
  it.each(["2", "3"])("story %s of clouds and certificates", (seed) => expectNoFailure(seed, false))
})
