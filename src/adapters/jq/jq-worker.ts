/** The worker in which programs of jq run: a program that does not end is ended with its worker (jq-programs.ts). */

import { parentPort } from "node:worker_threads"
import { loadJq } from "jq-wasm/inline"

/** A program for the worker; `inputs` is JSON, or `undefined` if the program is only compiled. */
export interface JqWork {
  readonly program: string
  readonly inputs: string | undefined
}

/** A message of the worker: first that it can begin, then an answer for each program. */
export type JqWorkerMessage =
  | { readonly _tag: "Ready" }
  /** A line of JSON for each input; empty if the program was only compiled. */
  | { readonly _tag: "Done"; readonly lines: string }
  /** The words of jq. */
  | { readonly _tag: "NoProgram"; readonly words: string }
  /** The program ended otherwise than by its last output. */
  | { readonly _tag: "Broken" }

/** The exit code of jq for a text that is no program. */
const noProgram = 3

const jq = await loadJq()

/**
 * An error after some outputs must not cost them. The text is compiled by itself first, because one like `1); (2` would
 * be a program only between parentheses.
 */
const answer = ({ inputs, program }: JqWork): JqWorkerMessage => {
  const compiled = jq.raw("", program)
  if (compiled.exitCode === noProgram) return { _tag: "NoProgram", words: compiled.stderr }
  if (inputs === undefined) return { _tag: "Done", lines: "" }
  const { exitCode, stdout } = jq.raw(inputs, `def program: (${program}\n); .[] | [try program catch null]`, ["-c"])
  return exitCode === 0 ? { _tag: "Done", lines: stdout } : { _tag: "Broken" }
}

const say = (message: JqWorkerMessage): void => parentPort?.postMessage(message)

parentPort?.on("message", (work: JqWork) => {
  try {
    say(answer(work))
  } catch {
    // The memory of the program is at its end.
    say({ _tag: "Broken" })
  }
})
say({ _tag: "Ready" })
