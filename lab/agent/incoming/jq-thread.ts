/** The thread in which jq programs run for `jq-filter.ts`: jq itself, as WebAssembly. */

import { type MessagePort, parentPort } from "node:worker_threads"
import { raw } from "jq-wasm"

/** One run of jq. The answer is posted first, then `done` is set and its waiter woken. */
export interface JqRun {
  readonly program: string
  /** JSON texts, none or more. */
  readonly input: string
  readonly done: Int32Array<SharedArrayBuffer>
  readonly answer: MessagePort
}

/** The output as JSON texts, one a line, or a reason. */
export type JqAnswer = { readonly output: string } | { readonly error: string }

const run = async ({ program, input, done, answer }: JqRun): Promise<void> => {
  const result: JqAnswer = await raw(input, program, ["-c"]).then(
    (output) => ({ output }),
    (error: unknown) => ({ error: String(error) })
  )
  answer.postMessage(result)
  Atomics.store(done, 0, 1)
  Atomics.notify(done, 0)
}

parentPort?.on("message", (wanted: JqRun) => void run(wanted))
