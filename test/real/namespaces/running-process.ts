/** Processes that must not outlive their test, even if it is killed, with their output by lines. */

import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { reapWithUs } from "../../../lab/cluster/node/reaper.ts"
import { until } from "../../support/until.ts"
import { containerPath } from "./tools.ts"

export interface RunningProcess {
  readonly pid: number
  readonly lines: ReadonlyArray<string>
  /** The exit code, or -1 after a signal. */
  readonly ended: Promise<number>
  /** Waits for a line of the output; fails if the process ends before. */
  readonly says: (what: string, fits: (line: string) => boolean) => Promise<void>
  /** SIGTERM to the process, as a kubelet sends it; after its end SIGKILL to all that it has left behind. */
  readonly stop: () => Promise<void>
}

export const startProcess = (
  [file, ...args]: readonly [string, ...ReadonlyArray<string>],
  env: Readonly<Record<string, string>> = {}
): RunningProcess => {
  const child = spawn(file, args, {
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
    env: { PATH: containerPath, ...env }
  })
  const lines: Array<string> = []
  for (const input of [child.stdout, child.stderr]) createInterface({ input }).on("line", (line) => lines.push(line))
  const { pid } = child
  // The event that names the reason would come too late for an exception.
  child.on("error", () => undefined)
  if (pid === undefined) throw new Error(`${file} cannot be started`)
  const reaped = reapWithUs(pid)
  let code: number | undefined
  child.once("exit", () => {
    try {
      // Processes that it has left behind would also hold its output open.
      process.kill(-pid, "SIGKILL")
    } catch {
      // Nothing was left behind.
    }
    reaped()
  })
  const ended = new Promise<number>((resolve) =>
    // After the last line of the output, unlike `exit`.
    child.once("close", (exitCode) => {
      code = exitCode ?? -1
      resolve(code)
    })
  )
  return {
    pid,
    lines,
    ended,
    says: async (what, fits) => {
      await until(what, () => {
        if (lines.some(fits)) return true
        if (code !== undefined) throw new Error(`ended with ${code} before: ${what}\n${lines.join("\n")}`)
        return undefined
      })
    },
    stop: async () => {
      child.kill("SIGTERM")
      await ended
    }
  }
}
