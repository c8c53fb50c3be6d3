/** How a failure is told: its seed, its whole story, and a command that plays it again. */

import { execFileSync } from "node:child_process"
import { Result } from "effect"
import fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type Failure, failureText, replayOfRandom } from "../../../../lab/simulation/command/failure.ts"
import { readOptions } from "../../../../lab/simulation/command/simulate-flags.ts"
import type { Outcome } from "../../../../lab/simulation/command/work.ts"
import { givenFlags } from "./given-flags.ts"

const defaultSize = { clusters: 3, sessions: 3, minutes: 5 }

/** The subject that the command line names. */
const subjectOf = (args: ReadonlyArray<string>) => {
  const pairs = args.flatMap((name, i) => (i % 2 === 0 ? [[name.replace("--", ""), args[i + 1]]] : []))
  return Result.getOrThrow(readOptions(givenFlags(Object.fromEntries(pairs)), 1)).subject
}

const outcome: Outcome = {
  story: { seed: "0123456789ab-17", lines: ["cluster a default", "ttl 5s", "session s1", "tick 1s"] },
  violation: { id: "expect", sentence: "What the story expects holds.", detail: "s1 lives", at: 0, line: 4 },
  transcript: ["session s1", "  0.0s s1 connects", "tick 1s"],
  faults: {},
  virtualMs: 1000,
  steps: 0
}

const failure = (choice: Failure["choice"]): Failure => ({
  number: 17,
  title: "story 0123456789ab-17",
  found: { ...outcome, story: { ...outcome.story, lines: [...outcome.story.lines, "tick 2s"] } },
  shortest: outcome,
  choice,
  file: "simulation-failures/expect.txt",
  replay: choice._tag === "Random" ? replayOfRandom(choice.seed, choice.size) : "npm run simulate -- …"
})

describe("a failure", () => {
  it("names the whole seed, the lines of the world, the transcript, and a command without a file", () => {
    const told = failureText(failure({ _tag: "Random", seed: outcome.story.seed, size: defaultSize }), false)
    expect(told).toEqual([
      "✗ story 0123456789ab-17: expect: What the story expects holds.",
      "    s1 lives",
      "  the story (seed 0123456789ab-17, shrunk from 5 lines to 4), also in simulation-failures/expect.txt:",
      "    cluster a default",
      "    ttl 5s",
      "    session s1",
      "      0.0s s1 connects",
      "    tick 1s",
      "  replay: npm run simulate -- --story 0123456789ab-17"
    ])
  })

  it("gives the command that names exactly this story, through a shell", () => {
    const size = fc.record({
      clusters: fc.integer({ min: 1, max: 26 }),
      sessions: fc.integer({ min: 1, max: 1000 }),
      minutes: fc.constantFrom(5, 6, 30, 90, 600)
    })
    fc.assert(
      fc.property(fc.constantFrom("1/7", "0123456789ab-17", "8+2/1", "it's/1", "$x/3"), size, (seed, size) => {
        const words = replayOfRandom(seed, size).replace("npm run simulate -- ", "")
        const args = execFileSync("sh", ["-c", `printf '%s\\n' ${words}`], { encoding: "utf8" })
          .trimEnd()
          .split("\n")
        expect(subjectOf(args)).toEqual({ _tag: "Story", seed, size })
      }),
      { numRuns: 20 }
    )
  })
})
