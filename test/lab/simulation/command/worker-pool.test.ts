/** Worker processes that die, hang or return: work is answered, and no process is left. */

import { readdirSync, readFileSync } from "node:fs"
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { makeStoryPool } from "../../../../lab/simulation/command/story-pool.ts"
import type { Answer, Work } from "../../../../lab/simulation/command/work.ts"
import { untilTrue } from "../../../support/until-true.ts"

const story = (...lines: ReadonlyArray<string>): Work => ({
  _tag: "Run",
  choice: { _tag: "Written", story: { seed: "1", lines: ["cluster a default", ...lines] }, sweepRun: undefined },
  number: 1,
  title: "a test",
  trace: undefined,
  report: undefined,
  transcript: true
})

const contents = (file: string): string => {
  try {
    return readFileSync(file, "utf8")
  } catch {
    // The process is gone.
    return ""
  }
}

/** Process ids of the workers that this process has started. */
const workers = (): ReadonlyArray<number> =>
  readdirSync("/proc")
    .filter((pid) => /^\d+$/.test(pid))
    .filter((pid) => contents(`/proc/${pid}/cmdline`).includes("simulation/command/worker.ts"))
    // The state and the parent follow the name in parentheses.
    .filter((pid) =>
      contents(`/proc/${pid}/stat`)
        .replace(/^.*\) \S+ /, "")
        .startsWith(`${process.pid} `)
    )
    .map(Number)

describe("worker processes", () => {
  it("run stories, and are gone with the scope", async () => {
    const answers = await Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const pool = yield* makeStoryPool(2)
          const told = yield* Effect.all([pool.run(story("tick 1s")), pool.run(story("tick 2s"))], { concurrency: 2 })
          expect(workers()).toHaveLength(2)
          return told
        })
      )
    )
    expect(answers.map((answer) => (answer._tag === "Ran" ? answer.outcome.virtualMs : undefined))).toEqual([
      1_001_000, 1_002_000
    ])
    await untilTrue("the end of all workers", () => workers().length === 0)
  })

  // Several times, because the exit of a process and the closing of its channel come in either order.
  it("are replaced when they die; what they did then has failed", { repeats: 4 }, async () => {
    const endless = story(...Array.from({ length: 10_000 }, () => "tick 1h"))
    const [lost, next] = await Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const pool = yield* makeStoryPool(1)
          const kill = Effect.promise(async () => {
            await untilTrue("a worker", () => workers().length === 1)
            workers().forEach((pid) => process.kill(pid, "SIGKILL"))
          })
          const [lost] = yield* Effect.all([pool.run(endless), kill], { concurrency: 2 })
          return [lost, yield* pool.run(story("tick 3s"))] as const
        })
      )
    )
    expect(lost).toEqual({ _tag: "Failed", message: "its process ended with SIGKILL" } satisfies Answer)
    expect(next).toMatchObject({ _tag: "Ran", outcome: { virtualMs: 1_003_000 } })
  })

  it("are given in turn: work that comes later does not pass by", async () => {
    const ended: Array<number> = []
    await Effect.runPromise(
      Effect.scoped(
        Effect.gen(function* () {
          const { run } = yield* makeStoryPool(1)
          const one = (number: number): Effect.Effect<void> =>
            Effect.andThen(
              run(story("tick 1s")),
              Effect.sync(() => void ended.push(number))
            )
          // The first one asks again as soon as it has its answer, while the second waits.
          yield* Effect.all([Effect.andThen(one(1), one(3)), one(2)], { concurrency: 2 })
        })
      )
    )
    expect(ended).toEqual([1, 2, 3])
  })

  it("tell of a random story that cannot be read as of one that failed", async () => {
    const answer = await Effect.runPromise(
      Effect.scoped(Effect.flatMap(makeStoryPool(1), ({ run }) => run(story("sesion s1"))))
    )
    expect(answer._tag === "Ran" && answer.outcome.violation).toMatchObject({
      id: "story",
      detail: expect.stringContaining("sesion") as string
    })
  })
})
