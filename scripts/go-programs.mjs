// @ts-check
/** Builds programs of Go from the module that pins them, and says how far it is. */

import { spawn, spawnSync } from "node:child_process"
import { mkdtempSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"

/**
 * A program: its name, and the package that it is built from.
 *
 * @typedef {{ readonly name: string; readonly package: string }} GoProgram
 */

/**
 * Says how far a build is: one line that is written over on a terminal, a line at every tenth elsewhere. @param
 * {string} what @param {number} total
 */
const makeProgress = (what, total) => {
  const began = Date.now()
  let done = 0
  let lastTenth = -1
  return {
    step: () => {
      done++
      const seconds = Math.round((Date.now() - began) / 1000)
      const text = `${what}: ${Math.min(done, total)} of ${total} packages, ${seconds} s`
      const tenth = Math.floor((10 * done) / total)
      if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`)
      else if (tenth > lastTenth) console.error(text)
      lastTenth = tenth
    },
    end: () => {
      if (process.stderr.isTTY) process.stderr.write("\r\u001b[K")
      console.error(`${what}: built in ${Math.round((Date.now() - began) / 1000)} s`)
    }
  }
}

const goEnv = {
  CGO_ENABLED: "0",
  GOFLAGS: "-mod=readonly -buildvcs=false",
  // A tenth of a compiler's time collects garbage, for memory that the servers' tests need anyway.
  GOGC: process.env["GOGC"] ?? "400"
}

/**
 * The file name that Go gives a package's program: its last part that is no major version.
 *
 * @param {string} from
 */
const builtName = (from) => from.split("/").findLast((part) => !/^v\d+$/u.test(part)) ?? from

/**
 * Builds programs of one module into a folder, in one run of Go, which compiles for one program while it links another.
 * Throws what Go says about it if that fails; then nothing is left.
 *
 * @param {{
 *   readonly module: string
 *   readonly programs: ReadonlyArray<GoProgram>
 *   readonly folder: string
 *   readonly stamps?: ReadonlyArray<string>
 * }} wanted
 *   `module`: the folder of its go.mod; `stamps`: values of variables, as the linker's `-X` takes them
 * @returns {Promise<void>}
 */
export const buildGoPrograms = ({ folder, module, programs, stamps = [] }) => {
  const env = { ...process.env, ...goEnv }
  const packages = programs.map((program) => program.package)
  const what = programs.map(({ name }) => name).join(", ")
  const listed = spawnSync("go", ["list", "-deps", ...packages], {
    cwd: module,
    env,
    encoding: "utf8",
    maxBuffer: 1 << 26,
    stdio: ["ignore", "pipe", "inherit"]
  })
  if (listed.error !== undefined)
    return Promise.reject(
      new Error(`go cannot be started: ${listed.error.message}; install Go 1.26 or newer (https://go.dev/dl)`)
    )
  if (listed.status !== 0)
    return Promise.reject(
      new Error(
        `the packages of ${what} cannot be read: what Go says about it stands above; Go 1.26 or newer is needed`
      )
    )
  const progress = makeProgress(what, listed.stdout.trim().split("\n").length)
  const temporary = mkdtempSync(join(folder, "build-"))
  const ldflags = ["-s -w", ...stamps].join(" -X ")
  // Nobody debugs these programs, and a tenth of the time of a build is for debuggers.
  const flags = ["-v", "-trimpath", "-gcflags=all=-dwarf=false", "-ldflags", ldflags]
  return new Promise((resolve, reject) => {
    const go = spawn("go", ["build", ...flags, "-o", `${temporary}/`, ...packages], {
      cwd: module,
      env,
      stdio: ["ignore", "inherit", "pipe"]
    })
    let rest = ""
    /** @type {string[]} */
    const said = []
    go.stderr.setEncoding("utf8").on("data", (/** @type {string} */ text) => {
      const lines = `${rest}${text}`.split("\n")
      rest = lines.pop() ?? ""
      for (const line of lines) {
        if (/^[\w.~-]+(\/[\w.~-]+)*$/u.test(line)) progress.step()
        else said.push(line)
      }
    })
    go.on("error", (error) => reject(new Error(`go cannot be started: ${error.message}`)))
    go.on("close", (code) => {
      if (code === 0) {
        for (const { name, package: from } of programs) renameSync(join(temporary, builtName(from)), join(folder, name))
      }
      rmSync(temporary, { recursive: true, force: true })
      if (code !== 0) return reject(new Error(`${what} cannot be built:\n${[...said, rest].join("\n")}`))
      progress.end()
      resolve()
    })
  })
}
