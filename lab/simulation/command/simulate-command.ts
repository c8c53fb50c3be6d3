/**
 * The command `npm run simulate`: plans stories, hands them to workers, and reports each in order. The stories run in
 * `do-work.ts`, in other processes.
 */

import { randomInt } from "node:crypto"
import { accessSync, constants, existsSync } from "node:fs"
import { availableParallelism } from "node:os"
import { dirname } from "node:path"
import { Effect, Result, type Scope } from "effect"
import { makeOutput, type Output, standardStreams } from "./output.ts"
import { readScenario, type Scenario } from "./scenario-file.ts"
import { readOptions, type SimulateFlags, type SimulateOptions } from "./simulate-flags.ts"
import { makeStoryPool, type StoryPool } from "./story-pool.ts"
import { type Job, StoryRun } from "./story-run.ts"
import { openTrace } from "./trace-file.ts"

interface Plan {
  readonly jobs: Iterable<Job>
  readonly total: number | undefined
}

interface CannotStart {
  readonly mistakes: ReadonlyArray<string>
}

const cannotStart = (...mistakes: ReadonlyArray<string>): Effect.Effect<never, CannotStart> => Effect.fail({ mistakes })

/** The seed of a later round of a run without an end. */
const seedAfter = (seed: string, rounds: number): string => {
  if (rounds === 0) return seed
  return /^\d+$/.test(seed) ? `${BigInt(seed) + BigInt(rounds)}` : `${seed}+${rounds}`
}

function* randomJobs({
  forever,
  seed,
  size,
  stories
}: Extract<SimulateOptions["subject"], { readonly _tag: "Random" }>): Generator<Job> {
  const first = seed ?? (forever ? `${randomInt(2 ** 31)}` : "1")
  for (let round = 0; round === 0 || forever; round++) {
    for (let i = 1; i <= stories; i++) {
      const storySeed = `${seedAfter(first, round)}/${i}`
      yield {
        number: round * stories + i,
        title: `story ${storySeed}`,
        choice: { _tag: "Random", seed: storySeed, size }
      }
    }
  }
}

const written = (number: number, { name, story }: Scenario, sweepRun: string | undefined): Job => ({
  number,
  title: sweepRun === undefined ? `scenario ${name}` : `scenario ${name}, ${sweepRun}`,
  choice: { _tag: "Written", story, sweepRun }
})

const planOf = (subject: SimulateOptions["subject"], pool: StoryPool): Effect.Effect<Plan, CannotStart> =>
  Effect.gen(function* () {
    if (subject._tag === "Random") {
      return { jobs: randomJobs(subject), total: subject.forever ? undefined : subject.stories }
    }
    if (subject._tag === "Story") {
      const { seed, size } = subject
      return { jobs: [{ number: 1, title: `story ${seed}`, choice: { _tag: "Random", seed, size } }], total: 1 }
    }
    const scenario = readScenario(subject.scenario, subject.seed)
    if (Result.isFailure(scenario)) return yield* cannotStart(...scenario.failure)
    if (subject._tag === "Scenario")
      return { jobs: [written(1, scenario.success, scenario.success.sweepRun)], total: 1 }
    const answer = yield* pool.run({ _tag: "PlanSweep", story: scenario.success.story })
    if (answer._tag !== "SweepPlanned")
      return yield* cannotStart(answer._tag === "Failed" ? answer.message : "the sweep could not be planned")
    return { jobs: answer.runs.map((run, i) => written(i + 1, scenario.success, run)), total: answer.runs.length }
  })

/** Whether the subject is one story, whose transcript is shown, passed or not. */
const isOneStory = ({ _tag }: SimulateOptions["subject"]): boolean => _tag === "Scenario" || _tag === "Story"

const simulate = (options: SimulateOptions, output: Output): Effect.Effect<number, CannotStart, Scope.Scope> =>
  Effect.gen(function* () {
    const { report, subject, trace, workers } = options
    if (report !== undefined) yield* writable("--report", report)
    const pool = yield* makeStoryPool(workers)
    const { jobs, total } = yield* planOf(subject, pool)
    const traceFile =
      trace === undefined
        ? undefined
        : yield* openTrace(trace).pipe(Effect.catch(({ message }) => cannotStart(message)))
    const run = new StoryRun({
      output,
      pool,
      workers,
      workOf: (job) => ({
        ...job,
        _tag: "Run",
        trace: traceFile?.part(job.number),
        report,
        transcript: isOneStory(subject)
      }),
      hear: ({ number }) => traceFile?.append(number)
    })
    const isForever = subject._tag === "Random" && subject.forever
    yield* run.run(jobs, total).pipe(
      Effect.onInterrupt(() =>
        // A run without an end is complete when a person interrupts it; any other run is not.
        Effect.sync(() => {
          if (isForever) process.exitCode = run.exitCode
        })
      )
    )
    return run.exitCode
  })

const writable = (flag: string, file: string): Effect.Effect<void, CannotStart> =>
  Effect.try({
    try: () => accessSync(existsSync(file) ? file : dirname(file), constants.W_OK),
    catch: (error): CannotStart => ({
      mistakes: [`${flag}: ${file} cannot be written: ${error instanceof Error ? error.message : String(error)}`]
    })
  })

/** Runs the command; the exit code is 0 only if no story failed. */
export const runSimulate = (flags: SimulateFlags, streams = standardStreams): Effect.Effect<number> => {
  const options = readOptions(flags, availableParallelism())
  const refuse = (mistakes: ReadonlyArray<string>): Effect.Effect<number> =>
    Effect.sync(() => {
      for (const mistake of mistakes) streams.err(`simulate: ${mistake}\n`)
      return 1
    })
  if (Result.isFailure(options)) return refuse(options.failure)
  const { json, subject } = options.success
  const output = makeOutput(streams, { json, transcripts: isOneStory(subject) })
  return simulate(options.success, output).pipe(
    Effect.scoped,
    Effect.catch(({ mistakes }) => refuse(mistakes))
  )
}
