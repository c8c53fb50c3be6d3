/**
 * The command `npm run simulate`: plans stories, hands them to workers, and tells of each in order. The stories run in
 * `do-work.ts`, in other processes.
 */

import { randomInt } from "node:crypto"
import { accessSync, constants, existsSync } from "node:fs"
import { availableParallelism } from "node:os"
import { dirname } from "node:path"
import { Clock, Effect, Exit, Result, type Scope, Stream } from "effect"
import type { Violation } from "../invariants/invariant.ts"
import { writeFailure } from "./failure.ts"
import { makeOutput, type Output, type Streams } from "./output.ts"
import { readScenario, type Scenario } from "./scenario-file.ts"
import { readOptions, type SimulateFlags, type SimulateOptions } from "./simulate-flags.ts"
import { counted, emptyTally, type Tally } from "./tally.ts"
import { openTrace, type TraceFile } from "./trace-file.ts"
import type { Answer, Outcome, StoryChoice } from "./work.ts"
import { makeWorkerPool, type WorkerPool } from "./worker-pool.ts"

/** Most failures of one sentence that are shrunk and shown with their transcripts; further failures are only named. */
const shownPerSentence = 3

interface Job {
  readonly number: number
  readonly title: string
  readonly choice: StoryChoice
}

interface Plan {
  readonly jobs: Iterable<Job>
  readonly total: number | undefined
}

interface CannotStart {
  readonly mistakes: ReadonlyArray<string>
}

const cannotStart = (...mistakes: ReadonlyArray<string>): Effect.Effect<never, CannotStart> => Effect.fail({ mistakes })

/** The seed of a later round of a run without an end. */
const seedAfter = (seed: string, rounds: number): string =>
  rounds === 0 ? seed : /^\d+$/.test(seed) ? `${BigInt(seed) + BigInt(rounds)}` : `${seed}+${rounds}`

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

const planOf = (subject: SimulateOptions["subject"], pool: WorkerPool): Effect.Effect<Plan, CannotStart> =>
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

const lostId = "worker"

/** The outcome of a story whose worker could not finish it: it counts as failed. */
const lost = (choice: StoryChoice, message: string): Outcome => {
  const violation: Violation = {
    id: lostId,
    sentence: "A story ends, and does not end its process.",
    detail: message,
    at: 0,
    line: 0
  }
  const story = choice._tag === "Written" ? choice.story : { seed: choice.seed, lines: [] }
  return { story, violation, transcript: [], faults: {}, virtualMs: 0 }
}

const outcomeOf = (choice: StoryChoice, answer: Answer): Outcome => {
  if (answer._tag === "Ran") return answer.outcome
  return lost(choice, answer._tag === "Failed" ? answer.message : "its worker gave another answer")
}

/** Whether the subject is one story, whose transcript is shown, passed or not. */
const isOneStory = ({ _tag }: SimulateOptions["subject"]): boolean => _tag === "Scenario" || _tag === "Story"

/** Runs the jobs and tells of each in their order. */
class Simulation {
  tally: Tally = emptyTally
  readonly #shown = new Map<string, number>()
  readonly #options: SimulateOptions
  readonly #output: Output
  readonly #pool: WorkerPool
  readonly #trace: TraceFile | undefined

  constructor(options: SimulateOptions, output: Output, pool: WorkerPool, trace: TraceFile | undefined) {
    this.#options = options
    this.#output = output
    this.#pool = pool
    this.#trace = trace
  }

  run({ jobs }: Plan): Effect.Effect<void> {
    return Stream.fromIterable(jobs, { chunkSize: 1 }).pipe(
      // More jobs than workers, so that no worker waits while an early story is slow.
      Stream.mapEffect((job) => Effect.map(this.#run(job), (outcome) => ({ job, outcome })), {
        concurrency: this.#options.workers * 8
      }),
      Stream.runForEach(({ job, outcome }) => this.#tell(job, outcome))
    )
  }

  #run({ choice, number, title }: Job): Effect.Effect<Outcome> {
    const { report, subject } = this.#options
    const work = {
      _tag: "Run",
      choice,
      number,
      title,
      trace: this.#trace?.part(number),
      report,
      transcript: isOneStory(subject)
    } as const
    return Effect.map(this.#pool.run(work), (answer) => outcomeOf(choice, answer))
  }

  #tell({ choice, number, title }: Job, found: Outcome): Effect.Effect<void> {
    this.#trace?.append(number)
    this.tally = counted(this.tally, found)
    const { violation } = found
    if (violation === undefined) return Effect.sync(() => this.#output.passed(number, title, found))
    const shown = (this.#shown.get(violation.id) ?? 0) + 1
    this.#shown.set(violation.id, shown)
    const sweepRun = choice._tag === "Written" ? choice.sweepRun : undefined
    const tell = (shortest: Outcome, brief: boolean): void =>
      this.#output.failed(writeFailure({ number, title, found, shortest, choice }), brief)
    // A story that ended or blocked its worker is not given to another worker.
    if (shown > shownPerSentence || violation.id === lostId)
      return Effect.sync(() => tell(found, shown > shownPerSentence))
    return this.#pool.run({ _tag: "Shrink", story: found.story, sweepRun, breaks: violation }).pipe(
      Effect.onExit((exit) =>
        Effect.sync(() => {
          const answer = Exit.isSuccess(exit) ? exit.value : undefined
          const isShorter = answer?._tag === "Ran" && answer.outcome.violation !== undefined
          tell(isShorter ? answer.outcome : found, false)
        })
      ),
      Effect.asVoid
    )
  }
}

/** Interval of progress reports, in real time. */
const progressEvery = "200 millis"

const simulate = (options: SimulateOptions, output: Output): Effect.Effect<number, CannotStart, Scope.Scope> =>
  Effect.gen(function* () {
    const { report, subject, trace } = options
    if (report !== undefined) yield* writable("--report", report)
    const pool = yield* makeWorkerPool(options.workers)
    const plan = yield* planOf(subject, pool)
    const traceFile =
      trace === undefined
        ? undefined
        : yield* openTrace(trace).pipe(Effect.catch(({ message }) => cannotStart(message)))
    const simulation = new Simulation(options, output, pool, traceFile)
    const start = yield* Clock.currentTimeMillis
    const elapsed = Effect.map(Clock.currentTimeMillis, (now) => now - start)
    const showProgress = Effect.map(elapsed, (ms) => output.progress(simulation.tally, ms, plan.total))
    yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(progressEvery), showProgress)))
    const summary = Effect.map(elapsed, (ms) => {
      output.summary(simulation.tally, ms)
      return simulation.tally.failed === 0 ? 0 : 1
    })
    const isForever = subject._tag === "Random" && subject.forever
    return yield* simulation.run(plan).pipe(
      Effect.onInterrupt(() =>
        // A run without an end is complete when a person interrupts it; any other run is not.
        Effect.map(summary, (code) => {
          if (isForever) process.exitCode = code
        })
      ),
      Effect.andThen(summary)
    )
  })

const writable = (flag: string, file: string): Effect.Effect<void, CannotStart> =>
  Effect.try({
    try: () => accessSync(existsSync(file) ? file : dirname(file), constants.W_OK),
    catch: (error): CannotStart => ({
      mistakes: [`${flag}: ${file} cannot be written: ${error instanceof Error ? error.message : String(error)}`]
    })
  })

const standardStreams: Streams = {
  out: (text) => void process.stdout.write(text),
  err: (text) => void process.stderr.write(text),
  columns: () => (process.stderr.isTTY ? process.stderr.columns : undefined)
}

/** Runs the command; the exit code is 0 only if no story failed. */
export const runSimulate = (flags: SimulateFlags): Effect.Effect<number> => {
  const options = readOptions(flags, availableParallelism())
  const refuse = (mistakes: ReadonlyArray<string>): Effect.Effect<number> =>
    Effect.sync(() => {
      for (const mistake of mistakes) process.stderr.write(`simulate: ${mistake}\n`)
      return 1
    })
  if (Result.isFailure(options)) return refuse(options.failure)
  const { json, subject } = options.success
  const output = makeOutput(standardStreams, { json, transcripts: isOneStory(subject) })
  return simulate(options.success, output).pipe(
    Effect.scoped,
    Effect.catch(({ mistakes }) => refuse(mistakes))
  )
}
