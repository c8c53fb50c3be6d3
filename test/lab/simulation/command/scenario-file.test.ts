/** Reading and writing scenario files, and the sentences about mistakes. */

import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { Result } from "effect"
import { afterAll, describe, expect, it } from "vitest"
import { readScenario, scenarioNames, scenarioText } from "../../../../lab/simulation/command/scenario-file.ts"

const folder = mkdtempSync(`${tmpdir()}/scenario-file-`)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const file = (text: string): string => {
  const name = `${folder}/story.txt`
  writeFileSync(name, text)
  return name
}
const mistakes = (nameOrFile: string) => Result.getOrThrow(Result.flip(readScenario(nameOrFile, undefined)))

describe("a scenario's file", () => {
  it("is found by its name, without the transcripts beside it", () => {
    expect(scenarioNames()).toContain("member-cut-40s")
    expect(scenarioNames().filter((name) => name.includes("golden"))).toEqual([])
    expect(Result.getOrThrow(readScenario("member-cut-40s", undefined)).story.lines).toContain("cut primary b")
  })

  it("gives its seed in a comment, which an option overrides", () => {
    const name = file("# What it is about.\n# seed: x/7\ncluster a default\r\ntick 1s\n")
    expect(Result.getOrThrow(readScenario(name, undefined)).story.seed).toBe("x/7")
    expect(Result.getOrThrow(readScenario(name, "8")).story).toEqual({
      seed: "8",
      lines: ["# What it is about.", "# seed: x/7", "cluster a default", "tick 1s"]
    })
    expect(Result.getOrThrow(readScenario(file("cluster a default"), undefined)).story.seed).toBe("1")
  })

  it("says line, verb and the nearest one of every mistake", () => {
    const name = file("cluster a default\n\nsesion s1\ntick 5x\n")
    expect(mistakes(name)).toEqual([
      `${name}: line 3: there is no verb "sesion"; the nearest is session`,
      expect.stringContaining(`${name}: line 4: tick: "5x" is not a duration`)
    ])
  })

  it("says which scenario was meant when there is none of a name", () => {
    expect(mistakes("member-cut-4s")).toEqual([
      'there is no scenario and no file "member-cut-4s"; the nearest scenario is member-cut-40s'
    ])
  })

  it("says why a file cannot be read", () => {
    expect(mistakes(folder)).toEqual([expect.stringContaining(`${folder} cannot be read: EISDIR`)])
  })

  it("is written so that reading it gives the same story", () => {
    const story = { seed: "1/17", lines: ["# seed: old", "cluster a default", "tick 1s"] }
    const sweepRun = "a call 3 (get secrets to a): crash before"
    const name = file(scenarioText(story, ["S1: one", "two\nthree"], sweepRun))
    const read = Result.getOrThrow(readScenario(name, undefined))
    expect(read.sweepRun).toBe(sweepRun)
    expect(read.story.seed).toBe("1/17")
    expect(read.story.lines).toEqual([
      "# S1: one",
      "# two",
      "# three",
      "# seed: 1/17",
      `# sweep: ${sweepRun}`,
      "cluster a default",
      "tick 1s"
    ])
  })
})
