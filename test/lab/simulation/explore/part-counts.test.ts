/** The parts of the program that a story runs, as the workers of `npm run explore` tell them. */

import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { expect, it } from "vitest"
import { makeStoryPool } from "../../../../lab/simulation/command/story-pool.ts"
import type { Work } from "../../../../lab/simulation/command/work.ts"

const program = fileURLToPath(new URL("../../../../lab/simulation/explore/explore-worker.ts", import.meta.url))

const story = (...lines: ReadonlyArray<string>): Work => ({
  _tag: "Run",
  choice: { _tag: "Written", story: { seed: "1", lines: ["cluster a default", ...lines] }, sweepRun: undefined },
  number: 1,
  title: "a test",
  trace: undefined,
  report: undefined,
  transcript: false
})

it("are the functions that ran in this story, and how often their parts did", async () => {
  const [short, long, again] = await Effect.runPromise(
    Effect.scoped(
      Effect.flatMap(makeStoryPool(1, program), ({ run }) =>
        Effect.forEach([story("tick 1s"), story("tick 1s", "session s1", "tick 5s"), story("tick 1s")], (work) =>
          Effect.map(run(work), (answer) => (answer._tag === "Ran" ? (answer.functions ?? []) : []))
        )
      )
    )
  )
  const ofSessions = (functions: ReadonlyArray<string> = []) =>
    functions.filter((text) => text.startsWith("src/domain/sessions/session-plan.ts "))
  expect(ofSessions(short)).toEqual([])
  expect(ofSessions(long).length).toBeGreaterThan(0)
  expect(ofSessions(again)).toEqual([])
  for (const text of [...(short ?? []), ...(long ?? [])])
    expect(text).toMatch(/^(src|lab\/simulation\/(invariants|world))\/\S+\.ts \d+-\d+( \d+-\d+:\d+)+$/)
  // Some part of some function did not run, and some ran often.
  expect(long?.some((text) => text.endsWith(":0"))).toBe(true)
  expect(long?.some((text) => /:1\d$/.test(text))).toBe(true)
})
