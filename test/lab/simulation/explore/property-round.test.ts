/** Rounds of properties: their seed, and what is told of those that do not hold. */

import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { brokenIn, propertyRound } from "../../../../lab/simulation/explore/property-round.ts"

describe("a round of properties", () => {
  it("runs files of tests with vitest", async () => {
    const round = (file: string) => Effect.runPromise(propertyRound(7, [file]))
    expect(await round("test/lab/simulation/kernel/event-heap.test.ts")).toEqual([])
    expect(await round("test/no-such.test.ts")).toMatchObject([{ file: "vitest" }])
  })

  it("tells the file, the test, and the command that repeats it", () => {
    const file = `${process.cwd()}/test/domain/one.test.ts`
    const tests = [
      { status: "passed", fullName: "one holds", failureMessages: [] },
      { status: "failed", fullName: "one isn't kept", failureMessages: ["Property failed"] }
    ]
    expect(brokenIn({ testResults: [{ name: file, status: "failed", assertionResults: tests }] }, 7)).toEqual([
      {
        file: "test/domain/one.test.ts",
        test: "one isn't kept",
        message: "Property failed",
        replay: `BRAID_TEST_SEED=7 npx vitest run test/domain/one.test.ts -t 'one isn'\\''t kept'`
      }
    ])
  })

  it("tells a file that could not be run", () => {
    const file = `${process.cwd()}/test/domain/one.test.ts`
    const report = { testResults: [{ name: file, status: "failed", message: "no", assertionResults: [] }] }
    expect(brokenIn(report, 7)).toMatchObject([{ file: "test/domain/one.test.ts", message: "no" }])
  })
})
