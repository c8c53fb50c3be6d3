/** Gives stories to workers, reports each in their order, and has those that failed shrunk and written down. */

import { Clock, Effect, Exit, Stream } from "effect"
import type { Violation } from "../invariants/invariant.ts"
import { writeFailure } from "./failure.ts"
import type { Output } from "./output.ts"
import type { StoryPool } from "./story-pool.ts"
import { counted, emptyTally, type Tally } from "./tally.ts"
import type { Answer, Outcome, StoryChoice, Work } from "./work.ts"

/** A story to run. */
export interface Job {
  readonly number: number
  readonly title: string
  readonly choice: StoryChoice
}

export interface StoryRunOptions {
  readonly output: Output
  readonly pool: StoryPool
  /** Number of workers of the pool. */
  readonly workers: number
  readonly workOf: (job: Job) => Work
  /** Hears each answer, in the order of the jobs. */
  readonly hear?: (job: Job, answer: Answer) => void
  /** More lines for the head of a failure's file. */
  readonly remarks?: ReadonlyArray<string>
}

/** Most failures of one sentence that are shrunk and shown with their transcripts; further failures are only named. */
const shownPerSentence = 3

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
  return { story, violation, transcript: [], faults: {}, virtualMs: 0, steps: 0 }
}

const outcomeOf = (choice: StoryChoice, answer: Answer): Outcome => {
  if (answer._tag === "Ran") return answer.outcome
  return lost(choice, answer._tag === "Failed" ? answer.message : "its worker gave another answer")
}

/** Interval of progress reports, in real time. */
const progressEvery = "200 millis"

/** Runs jobs, and reports each in their order. */
export class StoryRun {
  #tally: Tally = emptyTally
  readonly #shown = new Map<string, number>()
  readonly #options: StoryRunOptions

  constructor(options: StoryRunOptions) {
    this.#options = options
  }

  /** 0 only if no story failed. */
  get exitCode(): number {
    return this.#tally.failed === 0 ? 0 : 1
  }

  /** Runs the jobs, with progress all along and a summary at the end, even if it is interrupted. */
  run(jobs: Iterable<Job>, total: number | undefined): Effect.Effect<void> {
    const { output } = this.#options
    return Effect.gen({ self: this }, function* () {
      const start = yield* Clock.currentTimeMillis
      const elapsed = Effect.map(Clock.currentTimeMillis, (now) => now - start)
      const showProgress = Effect.map(elapsed, (ms) => output.progress(this.#tally, ms, total))
      yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(progressEvery), showProgress)))
      const summary = Effect.map(elapsed, (ms) => output.summary(this.#tally, ms))
      yield* Effect.ensuring(this.#runAll(jobs), summary)
    }).pipe(Effect.scoped)
  }

  #runAll(jobs: Iterable<Job>): Effect.Effect<void> {
    const { pool, workers, workOf } = this.#options
    return Stream.fromIterable(jobs, { chunkSize: 1 }).pipe(
      // More jobs than workers, so that no worker waits while an early story is slow.
      Stream.mapEffect((job) => Effect.map(pool.run(workOf(job)), (answer) => ({ job, answer })), {
        concurrency: workers * 8
      }),
      Stream.runForEach(({ answer, job }) => this.#tell(job, answer))
    )
  }

  #tell(job: Job, answer: Answer): Effect.Effect<void> {
    const { hear, output, pool, remarks } = this.#options
    const { choice, number, title } = job
    hear?.(job, answer)
    const found = outcomeOf(choice, answer)
    this.#tally = counted(this.#tally, found)
    const { violation } = found
    if (violation === undefined) return Effect.sync(() => output.passed(number, title, found))
    const shown = (this.#shown.get(violation.id) ?? 0) + 1
    this.#shown.set(violation.id, shown)
    const sweepRun = choice._tag === "Written" ? choice.sweepRun : undefined
    const tell = (shortest: Outcome, brief: boolean): void =>
      output.failed(writeFailure({ number, title, found, shortest, choice }, remarks), brief)
    // A story that ended or blocked its worker is not given to another worker.
    if (shown > shownPerSentence || violation.id === lostId)
      return Effect.sync(() => tell(found, shown > shownPerSentence))
    return pool.run({ _tag: "Shrink", story: found.story, sweepRun, breaks: violation }).pipe(
      Effect.onExit((exit) =>
        Effect.sync(() => {
          const shorter = Exit.isSuccess(exit) ? exit.value : undefined
          const isShorter = shorter?._tag === "Ran" && shorter.outcome.violation !== undefined
          tell(isShorter ? shorter.outcome : found, false)
        })
      ),
      Effect.asVoid
    )
  }
}
