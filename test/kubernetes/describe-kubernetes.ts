import { describe, it } from "vitest"
import { isCi } from "../support/tested-commit.ts"
import { assetsProblem, assetsVariable } from "./assets-problem.ts"

/**
 * Tests against a real control plane; `tests` gets the folder of its programs, which `npm run kubernetes` makes.
 * Without the folder the tests are skipped; with `CI=true` a test fails instead and names the missing programs.
 */
export const describeKubernetes = (name: string, tests: (assets: string) => void): void => {
  const assets = process.env[assetsVariable]
  const missing = assetsProblem(assets)
  describe.runIf(missing === undefined)(name, () => {
    tests(assets ?? "")
  })
  // If nothing is missing, there is no such test: a skipped test would be counted.
  it.each(missing !== undefined && isCi ? [missing] : [])(`${name}: %s`, (problem) => {
    throw new Error(problem)
  })
}
