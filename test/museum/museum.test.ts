/**
 * Plays every defect that a story has found, as that story: a scenario whose first comment lines say what was wrong and
 * when it was found.
 */

import { readdirSync, readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { readScenario } from "../../lab/simulation/command/scenario-file.ts"
import { expectToHold } from "../simulation/failing-story.ts"

const folder = fileURLToPath(new URL(".", import.meta.url))
const files = readdirSync(folder)
  .filter((name) => name.endsWith(".txt"))
  .toSorted()

describe("museum", () => {
  it("is not empty", () => expect(files).not.toEqual([]))

  for (const name of files) {
    it(name.replace(/\.txt$/, ""), () => {
      expect(
        readFileSync(`${folder}${name}`, "utf8"),
        "the first lines say what was wrong and when it was found"
      ).toMatch(/^# .*\S[\s\S]*\b20\d\d-\d\d-\d\d/)
      const read = readScenario(`${folder}${name}`, undefined)
      if (Result.isFailure(read)) throw new Error(read.failure.join("\n"))
      expectToHold(read.success.story, `test/museum/${name}`, read.success.sweepRun)
    })
  }
})
