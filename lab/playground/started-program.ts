/** Programs of this machine that a playground starts, and that end with it at the latest. */

import { type ChildProcess, spawn } from "node:child_process"
import { createWriteStream } from "node:fs"
import { reapWithUs } from "../cluster/node/reaper.ts"

/** A command line. */
export type Command = readonly [file: string, ...args: ReadonlyArray<string>]

/**
 * Starts a program, whose output goes to the end of a file. It is in a process group of its own: Ctrl-C is for this
 * process, which ends the program when its time has come.
 */
export const startProgram = ([file, ...args]: Command, log: string): ChildProcess => {
  const output = createWriteStream(log, { flags: "a" })
  const child = spawn(file, args, { stdio: ["ignore", "pipe", "pipe"], detached: true })
  const ended = child.pid === undefined ? () => undefined : reapWithUs(child.pid)
  // A full disk loses lines, and nothing else.
  output.on("error", () => undefined)
  child.on("error", (error) => output.write(`${file} cannot be started: ${error.message}\n`))
  for (const stream of [child.stdout, child.stderr]) stream.pipe(output, { end: false })
  child.on("exit", ended)
  // The last lines come after the end of the process.
  child.on("close", () => output.end())
  return child
}
