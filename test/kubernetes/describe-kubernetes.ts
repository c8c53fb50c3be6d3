import { describe, it } from "vitest"
import { isCi } from "../support/tested-commit.ts"
import { assetsProblem, assetsVariable } from "./assets-problem.ts"

/**
 * Tests against a real control plane, with the folder of its programs. Without one they are skipped, and with `CI=true`
 * one test fails and says what is missing. `npm run kubernetes` makes the folder.
 */
export const describeKubernetes = (name: string, tests: (assets: string) => void): void => {
  const assets = process.env[assetsVariable]
  const missing = assetsProblem(assets)
  describe.runIf(missing === undefined)(name, () => {
    tests(assets ?? "")
  })
  // No test at all where nothing is missing: a skipped one would count.
  it.each(missing !== undefined && isCi ? [missing] : [])(`${name}: %s`, (problem) => {
    throw new Error(problem)
  })
}
