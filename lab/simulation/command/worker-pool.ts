/**
 * Starts worker processes, gives work to free ones, and replaces workers that die or hang. A worker is a program that
 * serves work ({@link serveWork}); work and answers are plain data, which cross a process boundary as JSON.
 */

import { type ChildProcess, fork } from "node:child_process"
import { Effect, type Scope } from "effect"

/** The work could not be done at all. */
export interface NotDone {
  readonly _tag: "Failed"
  readonly message: string
}

/** Worker processes; each piece of work is done by a free worker. */
export interface WorkerPool<Work, Answer> {
  /**
   * Waits for a free worker, in turn, and lets it work. If the worker dies, or is silent for too long, the answer is
   * `Failed` and the worker is replaced.
   */
  readonly run: (work: Work) => Effect.Effect<Answer | NotDone>
}

/** Real ms after which a worker counts as stuck; a story of usual size takes less than a thousandth of it. */
const patience = 900_000

/** Simulated worlds are made of short-lived objects, which a large young generation collects for less. */
const execArgv = ["--max-semi-space-size=64"]

class Worker<Work extends object, Answer> {
  readonly #program: string
  #child: ChildProcess | undefined

  constructor(program: string) {
    this.#program = program
  }

  #living(): ChildProcess {
    if (this.#child !== undefined) return this.#child
    const child = fork(this.#program, { execArgv, stdio: ["ignore", "inherit", "inherit", "ipc"] })
    // The exit of a child may be told before, with or after the closing of its channel; the first of these ends its
    // use.
    const forget = (): void => {
      if (this.#child === child) this.end()
    }
    // An unheard error event would end this process.
    child.on("exit", forget).on("disconnect", forget).on("error", forget)
    this.#child = child
    return child
  }

  readonly run = (work: Work): Effect.Effect<Answer | NotDone> =>
    Effect.callback<Answer | NotDone>((resume) => {
      const child = this.#living()
      const over = (answer: Answer | NotDone): void => {
        clearTimeout(timer)
        child.off("message", told).off("exit", exited).off("error", broken)
        resume(Effect.succeed(answer))
      }
      // Messages come only from the worker's program, which sends answers.
      const told = (answer: unknown): void => over(answer as Answer)
      const exited = (code: number | null, signal: string | null): void =>
        over({ _tag: "Failed", message: `its process ended with ${signal ?? `exit code ${code}`}` })
      const broken = ({ message }: Error): void =>
        over({ _tag: "Failed", message: `its process cannot be used: ${message}` })
      const timer = setTimeout(() => {
        this.end()
        over({ _tag: "Failed", message: `it did not end within ${patience / 1000} s of real time` })
      }, patience)
      child.on("message", told).on("exit", exited).on("error", broken)
      child.send(work)
    })

  readonly end = (): void => {
    this.#child?.kill("SIGKILL")
    this.#child = undefined
  }
}

/** Starts so many workers, each when there is work for it, and ends them with the scope. `program` is a file. */
export const makeWorkerPool = <Work extends object, Answer>(
  program: string,
  count: number
): Effect.Effect<WorkerPool<Work, Answer>, never, Scope.Scope> =>
  Effect.gen(function* () {
    const workers = Array.from({ length: count }, () => new Worker<Work, Answer>(program))
    yield* Effect.addFinalizer(() => Effect.sync(() => workers.forEach(({ end }) => end())))
    const free = [...workers]
    // No Queue: a newcomer would take what is meant for those who have waited longer.
    const waiting: Array<(worker: Worker<Work, Answer>) => void> = []
    const take = Effect.callback<Worker<Work, Answer>>((resume) => {
      const worker = free.pop()
      if (worker === undefined) waiting.push((worker) => resume(Effect.succeed(worker)))
      else resume(Effect.succeed(worker))
    })
    const giveBack = (worker: Worker<Work, Answer>): Effect.Effect<void> =>
      Effect.sync(() => {
        const next = waiting.shift()
        if (next === undefined) free.push(worker)
        else next(worker)
      })
    return { run: (work) => Effect.acquireUseRelease(take, (worker) => worker.run(work), giveBack) }
  })
