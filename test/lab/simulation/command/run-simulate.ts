/** Runs the command `simulate` in a folder, for tests. */

import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"

const program = fileURLToPath(new URL("../../../../lab/lab.ts", import.meta.url))

export interface SimulateRun {
  readonly code: number | null
  readonly out: string
  readonly err: string
  /** Lines of standard output. */
  readonly lines: ReadonlyArray<string>
}

/** Runs the command. `interruptAt`: sends SIGINT as soon as standard output matches. */
export const simulate = (cwd: string, args: ReadonlyArray<string>, interruptAt?: RegExp): Promise<SimulateRun> =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, "simulate", ...args], { cwd, stdio: ["ignore", "pipe", "pipe"] })
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
