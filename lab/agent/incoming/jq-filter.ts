/**
 * Compiles filters by a jq program that looks at headers. The real agent has jaq, a jq of its own making; here it is jq
 * itself, in a thread that is ended when a program takes too long.
 */

import { MessageChannel, receiveMessageOnPort, Worker } from "node:worker_threads"
import { Result } from "effect"
import type { JqAnswer, JqRun } from "./jq-thread.ts"

/** Nothing else happens in this process while a program runs, so it has less time than in the real agent. */
const programMs = 500
/** The thread has to load jq first. */
const startMs = 60_000

let thread: Worker | undefined

const isAnswer = (value: unknown): value is { readonly message: JqAnswer } =>
  typeof value === "object" && value !== null && "message" in value

/** The output of a program. The failure is a clause. */
const runWithin = (worker: Worker, program: string, input: string, limitMs: number): Result.Result<string, string> => {
  const done = new Int32Array(new SharedArrayBuffer(4))
  const { port1, port2 } = new MessageChannel()
  const wanted: JqRun = { program, input, done, answer: port2 }
  worker.postMessage(wanted, [port2])
  Atomics.wait(done, 0, 0, limitMs)
  const answer = receiveMessageOnPort(port1)
  port1.close()
  if (!isAnswer(answer)) {
    thread = undefined
    void worker.terminate()
    return Result.fail(`it took longer than ${limitMs} ms`)
  }
  return "output" in answer.message ? Result.succeed(answer.message.output) : Result.fail(answer.message.error)
}

const runJq = (program: string, input: string): Result.Result<string, string> => {
  if (thread === undefined) {
    const started = new Worker(new URL("jq-thread.ts", import.meta.url), { execArgv: [] })
    started.unref()
    const ready = runWithin(started, ".", "", startMs)
    if (Result.isFailure(ready)) return ready
    thread = started
  }
  return runWithin(thread, program, input, programMs)
}

/**
 * Whether the first boolean that `program` gives for any `name: value` is true. After an error jq gives nothing more,
 * but jaq does: `error, true` matches in the real agent alone. The failure is a sentence.
 */
export const compileJqFilter = (
  program: string
): Result.Result<(headers: ReadonlyArray<string>) => boolean, string> => {
  const forAll = `.[] | first(try (\n${program}\n) catch empty | booleans)`
  for (const source of [program, forAll]) {
    // Without any input a program is only compiled.
    const compiled = runJq(source, "")
    if (Result.isFailure(compiled)) {
      return Result.fail(`${JSON.stringify(program)} is not a valid jq program: ${compiled.failure}`)
    }
  }
  return Result.succeed((headers) => {
    const found = runJq(forAll, JSON.stringify(headers))
    return Result.isSuccess(found) && found.success.split("\n").includes("true")
  })
}
