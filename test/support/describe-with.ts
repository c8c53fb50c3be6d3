import { relative } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it, type TestOptions } from "vitest"
import { type Need, suiteOf } from "../suites.ts"
import { find } from "./outside-programs.ts"

const tests = fileURLToPath(new URL("..", import.meta.url))

/**
 * Tests that need programs from outside. Where a program is missing they are a single test that fails and says how to
 * get it: `npm run test:real` leaves out the files that lack something, and whoever runs such a file alone is told.
 */
export const describeWith = (
  needs: ReadonlyArray<Need>,
  name: string,
  body: () => void,
  options: TestOptions = {}
): void => {
  const file = relative(tests, expect.getState().testPath ?? "").replace(/\.test\.ts$/u, "")
  const undeclared = needs.filter((need) => suiteOf(file)?.needs.includes(need) !== true)
  if (undeclared.length > 0) throw new Error(`test/suites.ts must say that ${file} needs ${undeclared.join(", ")}`)
  const sentences = needs.flatMap((need) => {
    const found = find(need)
    return found._tag === "Missing" ? [found.sentence] : []
  })
  describe(name, options, () => {
    if (sentences.length === 0) return body()
    it("has the programs that it needs", () => {
      throw new Error(sentences.join("\n"))
    })
  })
}
