/** Processes that tell stories to planted mistakes, for the tests of a file. */

import { Effect, Exit, Scope } from "effect"
import { afterAll, beforeAll } from "vitest"
import { type Finding, type FindMistake, makeTellers, type Telling } from "./mutant.ts"

/** As many as a small machine has cores. A test of a file whose tests are concurrent waits for a free one. */
const count = 2

/** Starts the processes before the first test, ends them after the last, and gives what asks them. */
export const withTellers = (): ((telling: Telling) => Promise<Finding>) => {
  const scope = Scope.makeUnsafe()
  let find: FindMistake | undefined
  beforeAll(async () => {
    find = await Effect.runPromise(Scope.provide(makeTellers(count), scope))
  })
  afterAll(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  return (telling) => Effect.runPromise(find?.(telling) ?? Effect.die(new Error("no test runs yet")))
}
