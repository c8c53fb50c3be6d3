// @ts-check
/** Runs another program to its end, for scripts that show what it says only if it fails. */

import { spawn } from "node:child_process"

/**
 * Returns the program's standard output. Throws an Error with everything that it said if it cannot be started or ends
 * with another code than 0.
 *
 * @param {string} what the work, for the error @param {ReadonlyArray<string>} command
 * @param {{
 *   readonly cwd?: string
 *   readonly env?: Readonly<Record<string, string>>
 *   readonly isHeard?: boolean
 * }} [options]
 *   `env`: added to ours; `isHeard`: whether its standard error is shown meanwhile too
 * @returns {Promise<string>}
 */
export const runProgram = (what, [program = "", ...args], { cwd, env, isHeard = false } = {}) =>
  new Promise((resolve, reject) => {
    let [out, said] = ["", ""]
    const child = spawn(program, args, { cwd, env: { ...process.env, ...env }, stdio: ["ignore", "pipe", "pipe"] })
    child.stdout.on("data", (chunk) => (out += String(chunk)))
    child.stderr.on("data", (chunk) => {
      said += String(chunk)
      if (isHeard) process.stderr.write(String(chunk))
    })
    child.on("error", (error) => reject(new Error(`${what}: ${program} cannot be started: ${error.message}`)))
    child.on("close", (code) => {
      if (code === 0) resolve(out)
      else reject(new Error(`${what}: ${[program, ...args].join(" ")} ended with ${code}:\n${out}${said}`))
    })
  })
