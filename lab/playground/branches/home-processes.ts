/**
 * The processes of mirrord's client, found by the variables that they were started with: its internal proxy detaches
 * itself and may outlive the command that started it.
 */

import { readdirSync, readFileSync } from "node:fs"

/** Processes with this variable in their environment. */
export const processesWith = (name: string, value: string): ReadonlyArray<number> =>
  readdirSync("/proc").flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return []
    try {
      return readFileSync(`/proc/${entry}/environ`, "utf8").split("\0").includes(`${name}=${value}`)
        ? [Number(entry)]
        : []
    } catch {
      // The process has ended meanwhile.
      return []
    }
  })

/** Ends all processes of a home at once, as a loss of power would. */
export const killProcessesOf = (home: string): void => {
  for (const pid of processesWith("HOME", home)) {
    try {
      process.kill(pid, "SIGKILL")
    } catch {
      // The process has ended meanwhile.
    }
  }
}
