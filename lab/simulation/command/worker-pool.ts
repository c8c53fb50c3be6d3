/**
 * Starts worker processes, gives work to free ones, and replaces workers that die or hang. The work itself is in
 * `do-work.ts`.
 */

import { type ChildProcess, fork } from "node:child_process"
import { fileURLToPath } from "node:url"
import { Effect, Queue, type Scope } from "effect"
import type { Answer, Work } from "./work.ts"

/** Worker processes; each piece of work is done by a free worker. */
export interface WorkerPool {
  /**
   * Waits for a free worker and lets it work. If the worker dies, or is silent for too long, the answer is `Failed` and
   * the worker is replaced.
   */
  readonly run: (work: Work) => Effect.Effect<Answer>
}

const program = fileURLToPath(new URL("worker.ts", import.meta.url))

/** Real ms after which a worker counts as stuck; a story of usual size takes less than a thousandth of it. */
const patience = 900_000

class Worker {
  #child: ChildProcess | undefined

  #living(): ChildProcess {
    if (this.#child !== undefined) return this.#child
    const child = fork(program, { execArgv: [], stdio: ["ignore", "inherit", "inherit", "ipc"] })
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

  readonly run = (work: Work): Effect.Effect<Answer> =>
    Effect.callback<Answer>((resume) => {
      const child = this.#living()
      const over = (answer: Answer): void => {
        clearTimeout(timer)
        child.off("message", told).off("exit", exited).off("error", broken)
        resume(Effect.succeed(answer))
      }
      // Messages come only from worker.ts, which sends answers.
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

/** Starts so many workers, each when there is work for it, and ends them with the scope. */
export const makeWorkerPool = (count: number): Effect.Effect<WorkerPool, never, Scope.Scope> =>
  Effect.gen(function* () {
    const free = yield* Queue.unbounded<Worker>()
    const workers = Array.from({ length: count }, () => new Worker())
    yield* Effect.addFinalizer(() => Effect.sync(() => workers.forEach(({ end }) => end())))
    yield* Queue.offerAll(free, workers)
    return {
      run: (work) =>
        Effect.flatMap(Queue.take(free), (worker) => Effect.ensuring(worker.run(work), Queue.offer(free, worker)))
    }
  })
