/** The text and JSON that `simulate` prints. */

import { describe, expect, it } from "vitest"
import { makeOutput } from "../../../../lab/simulation/command/output.ts"
import { counted, emptyTally, faultsText } from "../../../../lab/simulation/command/tally.ts"
import type { Outcome } from "../../../../lab/simulation/command/work.ts"

const passed: Outcome = {
  story: { seed: "1/1", lines: [] },
  violation: undefined,
  transcript: ["tick 1s"],
  faults: { cut: 2 },
  virtualMs: 3_600_000,
  steps: 0
}
const tally = [passed, { ...passed, faults: { crash: 3, cut: 1, skew: 1 } }].reduce(counted, emptyTally)

const make = (json: boolean, columns: number | undefined) => {
  const written = { out: "", err: "" }
  const output = makeOutput(
    { out: (text) => void (written.out += text), err: (text) => void (written.err += text), columns: () => columns },
    { json, transcripts: false }
  )
  return { output, written }
}

describe("what simulate tells", () => {
  it("adds stories up", () => {
    expect(tally).toEqual({ passed: 2, failed: 0, virtualMs: 7_200_000, faults: { cut: 3, crash: 3, skew: 1 } })
    expect(faultsText(tally)).toBe("crash 3, cut 3, skew 1")
    expect(faultsText(tally, 1)).toBe("crash 3, others 4")
    expect(faultsText(emptyTally)).toBe("none")
  })

  it("rewrites one line of a terminal, never longer than it, and wipes it before it says something", () => {
    const { output, written } = make(false, 40)
    output.progress(tally, 1000, 10)
    output.progress(tally, 1200, 10)
    expect(written.err).not.toContain("\n")
    expect(written.err.split("\r\u001b[2K").slice(1)).toEqual(
      ["2/10 stories, 2.0 virtual hours, 2.0 sto", "2/10 stories, 2.0 virtual hours, 1.7 sto"].map((line) =>
        line.slice(0, 39)
      )
    )
    output.say("hello")
    expect(written.err.endsWith("\r\u001b[2K")).toBe(true)
    expect(written.out).toBe("hello\n")
  })

  it("writes a plain line every few seconds where there is no terminal", () => {
    const { output, written } = make(false, undefined)
    for (let elapsed = 0; elapsed <= 12_000; elapsed += 200) output.progress(tally, elapsed, 10)
    expect(written.err.split("\n")).toHaveLength(3)
    expect(written.err).toMatch(
      /^2\/10 stories, 2\.0 virtual hours, 0\.4 stories\/s, 0 failed, faults: crash 3, cut 3, skew 1\n/
    )
  })

  it("ends with the count of stories that passed and failed", () => {
    const { output, written } = make(false, undefined)
    output.summary(tally, 1000)
    expect(written.out).toBe("2.0 virtual hours; faults: crash 3, cut 3, skew 1\n2 passed, 0 failed\n")
  })

  it("writes nothing but JSON lines where they are asked for", () => {
    const { output, written } = make(true, 80)
    output.say("hello")
    output.progress(tally, 1000, 10)
    output.passed(1, "story 1/1", passed)
    output.summary(tally, 1000)
    expect(written.err).toBe("")
    expect(
      written.out
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown)
    ).toEqual([
      { story: 1, name: "story 1/1", ok: true, seed: "1/1", virtualMs: 3_600_000, faults: { cut: 2 } },
      { passed: 2, failed: 0, virtualMs: 7_200_000, faults: { cut: 3, crash: 3, skew: 1 } }
    ])
  })
})
