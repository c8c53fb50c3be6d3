/** Runs users' programs of jq in a worker thread, one after the other: implements the port `JqPrograms`. */

import { Worker } from "node:worker_threads"
import { Effect, Layer, type Scope, Semaphore } from "effect"
import { asArray } from "../../domain/json.ts"
import { oneLine } from "../../domain/one-line.ts"
import { JqFailed, JqPrograms } from "../../ports/jq-programs.ts"
import type { JqWork, JqWorkerMessage } from "./jq-worker.ts"

/** How long a program may take to be compiled, in ms. */
const compileLimit = 1_000

/** UTF-16 code units of jq's words that a sentence holds. */
const maxWords = 200

/** The program of the worker, which stands beside this file in sources and in the bundle. */
const workerProgram = new URL(import.meta.url.endsWith(".ts") ? "jq-worker.ts" : "jq-worker.mjs", import.meta.url)

const tooSlow = (limit: number): JqFailed =>
  new JqFailed({ reason: "TooSlow", detail: `it did not end within ${limit} ms, or needs too much memory` })

/** The first line of jq's words says what is wrong; the others show where. */
const noProgram = (words: string): JqFailed =>
  new JqFailed({
    reason: "NoProgram",
    detail: oneLine(words.split("\n")[0]?.replace(/^jq: error: /u, "") ?? "", maxWords)
  })

/** A line for each input: the list of its outputs. */
const outputsOf = (lines: string): ReadonlyArray<ReadonlyArray<unknown>> =>
  lines
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => asArray(JSON.parse(line)))

/** The next message of a worker; `Broken` if the worker ends before. */
const nextMessage = (worker: Worker): Effect.Effect<JqWorkerMessage> =>
  Effect.callback((resume) => {
    const over = (message: JqWorkerMessage): void => {
      forget()
      resume(Effect.succeed(message))
    }
    const ended = (): void => over({ _tag: "Broken" })
    const forget = (): void => void worker.off("message", over).off("exit", ended)
    worker.on("message", over).on("exit", ended)
    return Effect.sync(forget)
  })

/** The worker thread, begun when it is needed and again after its end. */
class JqThread {
  #worker: Worker | undefined

  readonly end = (): void => {
    void this.#worker?.terminate()
    this.#worker = undefined
  }

  /** A worker that can begin: the time in which it loads counts for no program. */
  readonly ready: Effect.Effect<Worker> = Effect.suspend(() => {
    if (this.#worker !== undefined) return Effect.succeed(this.#worker)
    const worker = new Worker(workerProgram, { stdout: true, stderr: true })
    // An unheard error event would end this process. The worker's exit comes behind it.
    worker.on("error", () => undefined)
    worker.unref()
    this.#worker = worker
    return Effect.as(nextMessage(worker), worker)
  })
}

/** Lets the worker work. A worker that has not answered in time is ended: it may never do so. */
const workIn = (thread: JqThread, wanted: JqWork, limit: number): Effect.Effect<string, JqFailed> =>
  Effect.gen(function* () {
    const worker = yield* thread.ready
    worker.postMessage(wanted)
    const answer = yield* Effect.timeoutOrElse(nextMessage(worker), {
      duration: limit,
      orElse: () => Effect.succeed<JqWorkerMessage>({ _tag: "Broken" })
    })
    if (answer._tag === "Done") return answer.lines
    if (answer._tag === "NoProgram") return yield* Effect.fail(noProgram(answer.words))
    thread.end()
    return yield* Effect.fail(tooSlow(limit))
  }).pipe(Effect.onInterrupt(() => Effect.sync(thread.end)))

const make: Effect.Effect<JqPrograms["Service"], never, Scope.Scope> = Effect.gen(function* () {
  const thread = new JqThread()
  yield* Effect.addFinalizer(() => Effect.sync(thread.end))
  const turn = Semaphore.makeUnsafe(1)
  const work = (wanted: JqWork, limit: number) => turn.withPermit(workIn(thread, wanted, limit))
  return {
    check: (program) => Effect.asVoid(work({ program, inputs: undefined }, compileLimit)),
    run: ({ inputs, limit, program }) =>
      Effect.map(work({ program, inputs: JSON.stringify(inputs) }, compileLimit + limit * inputs.length), outputsOf)
  }
})

/** Programs run in this process, in a thread that is begun with the first of them. */
export const jqPrograms: Layer.Layer<JqPrograms> = Layer.effect(JqPrograms, make)
