// @ts-check
/**
 * Runs each suite that starts programs many times beside busy loops, one run at a time, and says how often it passed. A
 * suite that does not pass every time depends on the speed of the machine. Nothing is tried a second time.
 */

import { spawn, spawnSync } from "node:child_process"
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { suites } from "../test/suites.ts"
import { unrunnable } from "../test/support/outside-programs.ts"

const help = `npm run steady -- [OPTION…]

Runs each suite that starts programs again and again, beside busy loops, and prints a table: suite, passes, longest run
in seconds. The exit code is 0 only if every suite passed every time. A suite whose programs are missing is named as not
run. The words of a suite's first failure are in coverage/steady/.

All suites take longer than a night. coverage/steady/record.json has, by suite, the commit at which it last passed every
time: --hours ends a night, and --resume leaves out in the next one what passed before, however many commits ago. A
suite whose file has changed since then runs again.

  --passes N   runs of each suite (20)
  --busy N     busy loops beside them (2)
  --only TEXT  only suites with this text in their path; more than one --only is possible
  --hours N    begins no suite after so many hours, and says how many are left
  --resume     leaves out suites that passed at least as many times before, and names the commit
  --help       this text`

/**
 * The last time that a suite passed every time; `longest`: seconds.
 *
 * @typedef {{
 *   readonly commit: string
 *   readonly passes: number
 *   readonly busy: number
 *   readonly longest: number
 * }} Passed
 */

const root = fileURLToPath(new URL("..", import.meta.url))
const found = join(root, "coverage", "steady")
const recordPath = join(found, "record.json")
const temporary = mkdtempSync(join(tmpdir(), "braid-steady-"))
const vitest = join(root, "node_modules", "vitest", "vitest.mjs")
const isTerminal = process.stderr.isTTY

/** @type {Set<import("node:child_process").ChildProcess>} */
const children = new Set()
const end = () => {
  for (const child of children) {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL")
    } catch {
      // It has ended meanwhile.
    }
  }
  rmSync(temporary, { recursive: true, force: true })
}
process.once("exit", end)
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => process.exit(130))

/** @param {string} command @param {ReadonlyArray<string>} args @param {Readonly<Record<string, string>>} env */
const start = (command, args, env = {}) => {
  const { CI: _, ...own } = process.env
  const options = { cwd: root, detached: true, env: { ...own, ...env } }
  const child = spawn(command, args, { ...options, stdio: ["ignore", "pipe", "pipe"] })
  children.add(child)
  child.once("close", () => children.delete(child))
  return child
}

/** A loop that ends with this process, however that ends. */
const loop = `const parent = ${process.pid}; while (process.ppid === parent) for (let i = 0; i < 1e8; i++);`

/** Suites that start programs although they need none from outside. */
const others = ["lab/playground/playground", "lab/fuzz/fuzz", "lab/playground/demo-app"]

/** In a network of its own, where that can be made: no run meets the addresses and ports of another. */
const isolated = spawnSync("unshare", ["--net", "ip", "link", "set", "lo", "up"]).status === 0
const inNetwork = ["--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", process.execPath]

/**
 * One run; `failure`: what vitest says of a run that failed.
 *
 * @param {string} suite
 * @returns {Promise<{ readonly seconds: number; readonly failure: string | undefined }>}
 */
const run = (suite) =>
  new Promise((resolve) => {
    const args = [vitest, "run", `test/${suite}.test.ts`]
    const env = { NO_COLOR: "1", GOGC: process.env["GOGC"] ?? "400", NODE_COMPILE_CACHE: join(temporary, "compiled") }
    const [command, rest] = isolated ? ["unshare", [...inNetwork, ...args]] : [process.execPath, args]
    const begun = performance.now()
    const child = start(command, rest, env)
    let output = ""
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (part) => (output += String(part)))
    child.once("error", (error) => (output += error.message))
    child.once("close", (code) =>
      resolve({ seconds: (performance.now() - begun) / 1000, failure: code === 0 ? undefined : output })
    )
  })

/** @param {ReadonlyArray<string>} args */
const git = (args) => spawnSync("git", args, { cwd: root, encoding: "utf8" })
const { status: changed } = git(["diff", "--quiet", "HEAD"])
const commit = git(["rev-parse", "--short=12", "HEAD"]).stdout.trim() + (changed === 0 ? "" : " and changes")

/** @returns {Readonly<Record<string, Passed>>} */
const readRecord = () => {
  try {
    return JSON.parse(readFileSync(recordPath, "utf8"))
  } catch {
    return {}
  }
}

/** @param {string} suite @param {Passed | undefined} passed nothing is kept of a suite that failed */
const record = (suite, passed) => {
  mkdirSync(found, { recursive: true })
  writeFileSync(recordPath, JSON.stringify({ ...readRecord(), [suite]: passed }, undefined, 2))
}

/**
 * The record of a suite that need not run again.
 *
 * @param {string} suite
 * @param {number} passes
 * @param {number} busy
 */
const passedBefore = (suite, passes, busy) => {
  const before = readRecord()[suite]
  if (before === undefined || before.passes < passes || before.busy < busy) return undefined
  const since = before.commit.split(" ")[0] ?? ""
  return git(["diff", "--quiet", since, "--", `test/${suite}.test.ts`]).status === 0 ? before : undefined
}

/** @param {string} passed @param {number} longest @param {string} text */
const row = (passed, longest, text) => console.log(`${passed.padEnd(8)}${longest.toFixed(0).padStart(5)} s   ${text}`)

/** @param {string} suite @param {number} passes @param {number} busy */
const runOften = async (suite, passes, busy) => {
  let [passed, longest, first] = [0, 0, ""]
  for (let pass = 1; pass <= passes; pass++) {
    if (isTerminal) process.stderr.write(`\r\u001b[2K${suite}: run ${pass}, ${passed} passed`)
    const { failure, seconds } = await run(suite)
    longest = Math.max(longest, seconds)
    if (failure === undefined) passed++
    else first ||= failure
  }
  if (isTerminal) process.stderr.write("\r\u001b[2K")
  row(`${passed} of ${passes}`, longest, suite)
  const isSteady = passed === passes
  record(suite, isSteady ? { commit, passes, busy, longest } : undefined)
  if (!isSteady) process.exitCode = 1
  if (first !== "") writeFileSync(join(found, `${suite.replaceAll("/", "-")}.txt`), first)
}

const main = async () => {
  const { values } = parseArgs({
    options: {
      passes: { type: "string", default: "20" },
      busy: { type: "string", default: "2" },
      only: { type: "string", multiple: true, default: [] },
      hours: { type: "string", default: "Infinity" },
      resume: { type: "boolean", default: false },
      help: { type: "boolean", default: false }
    }
  })
  if (values.help) return console.log(help)
  const [passes, busy] = [Number(values.passes), Number(values.busy)]
  const end = performance.now() + Number(values.hours) * 3_600_000
  const lacking = new Map(unrunnable().map(({ lacks, suite }) => [suite, lacks.join(", ")]))
  const chosen = [...Object.keys(suites), ...others].filter(
    (suite) => values.only.length === 0 || values.only.some((text) => `test/${suite}.test.ts`.includes(text))
  )
  console.log(`${chosen.length} suites, ${passes} runs each, beside ${busy} busy loops, at commit ${commit}`)
  console.log("passes  longest  suite")
  let left = 0
  for (let number = 0; number < busy; number++) start(process.execPath, ["-e", loop])
  for (const suite of chosen) {
    const lacks = lacking.get(suite)
    const before = values.resume ? passedBefore(suite, passes, busy) : undefined
    if (before !== undefined)
      row(`${before.passes} of ${before.passes}`, before.longest, `${suite}, at ${before.commit}`)
    else if (lacks !== undefined) console.log(`not run           ${suite}, for want of ${lacks}`)
    else if (performance.now() > end) left++
    else await runOften(suite, passes, busy)
  }
  if (left > 0) {
    console.log(`${left} suites are left; --resume goes on with them`)
    process.exitCode = 1
  }
  process.exit()
}

await main()
