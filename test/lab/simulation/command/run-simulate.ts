/** Runs the command `simulate`, for tests. */

import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"
import { runSimulate } from "../../../../lab/simulation/command/simulate-command.ts"
import { type Given, givenFlags } from "./given-flags.ts"

const program = fileURLToPath(new URL("../../../../lab/lab.ts", import.meta.url))

export interface SimulateRun {
  readonly code: number | null
  readonly out: string
  readonly err: string
  /** Lines of standard output. */
  readonly lines: ReadonlyArray<string>
}

/** Runs the command in this process, which takes a fraction of the time. Failures would be written to its folder. */
export const simulateHere = async (given: Given): Promise<SimulateRun> => {
  let [out, err] = ["", ""]
  const streams = {
    out: (text: string) => void (out += text),
    err: (text: string) => void (err += text),
    columns: () => undefined
  }
  const code = await Effect.runPromise(runSimulate(givenFlags({ workers: "1", ...given }), streams))
  return { code, out, err, lines: out.trimEnd().split("\n") }
}

/** Runs the program in a folder. `interruptAt`: sends SIGINT as soon as standard output matches. */
export const simulate = (cwd: string, args: ReadonlyArray<string>, interruptAt?: RegExp): Promise<SimulateRun> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, "simulate", "--workers", "1", ...args], {
      cwd,
      stdio: ["ignore", "pipe", "pipe"]
    })
    let [out, err] = ["", ""]
    let isInterrupted = false
    child.stdout.setEncoding("utf8").on("data", (text: string) => {
      out += text
      if (interruptAt?.test(out) === true && !isInterrupted) {
        isInterrupted = true
        child.kill("SIGINT")
      }
    })
    child.stderr.setEncoding("utf8").on("data", (text: string) => void (err += text))
    child.once("error", reject)
    child.once("close", (code) => resolve({ code, out, err, lines: out.trimEnd().split("\n") }))
  })
