/** Plays all written scenarios: they hold, and their transcripts are the golden ones, byte for byte. */

import { readdirSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import { runStory } from "../../../lab/simulation/story/run-story.ts"

const directory = join(dirname(fileURLToPath(import.meta.url)), "../../../lab/simulation/scenarios")
const names = readdirSync(directory)
  .filter((file) => file.endsWith(".txt") && !file.endsWith(".golden.txt"))
  .map((file) => file.slice(0, -".txt".length))
  .toSorted()

const linesOf = (name: string): ReadonlyArray<string> =>
  readFileSync(join(directory, `${name}.txt`), "utf8")
    .trimEnd()
    .split("\n")

describe("scenarios", () => {
  it("are at least 28, each with a first line that says what it shows", () => {
    expect(names.length).toBeGreaterThanOrEqual(28)
    for (const name of names) expect(linesOf(name)[0], name).toMatch(/^# .+\.$/)
  })

  it("have no transcript left over from a scenario that is gone", () => {
    const golden = readdirSync(directory).filter((file) => file.endsWith(".golden.txt"))
    expect(golden.map((file) => file.replace(".golden.txt", "")).toSorted()).toEqual(names)
  })

  it.each(names)("%s goes as its reviewed transcript says", async (name) => {
    const { transcript, violations } = runStory({ seed: name, lines: linesOf(name) })
    const text = `${transcript.join("\n")}\n`
    // With a misspelt name a line would do nothing, and neither would an expectation in it.
    expect(text).not.toContain("nothing happens")
    await expect(text).toMatchFileSnapshot(join(directory, `${name}.golden.txt`))
    expect(violations).toEqual([])
  })

  it.each(Array.from({ length: 2 }, (_, index) => `${index + 1}`))(
    "rfc-example with seed %s is the same run twice",
    (seed) => {
      const story = { seed, lines: linesOf("rfc-example") }
      const first = runStory(story, { digest: true })
      const second = runStory(story, { digest: true })
      expect(first.violations).toEqual([])
      expect(first.digest).toMatch(/^[0-9a-f]{64}$/)
      expect(second.digest).toBe(first.digest)
      expect(second.transcript).toEqual(first.transcript)
    }
  )

  it("rfc-example differs from seed to seed", () => {
    const digests = ["1", "2"].map((seed) => runStory({ seed, lines: linesOf("rfc-example") }, { digest: true }).digest)
    expect(new Set(digests).size).toBe(2)
  })
})
