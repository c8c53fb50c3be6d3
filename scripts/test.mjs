// @ts-check
/**
 * Runs `npm test`, `npm run test:real` and `npm run test:long`: says what it found on this machine, runs the tests of
 * their heights, and sums everything up. A file or check that could not be run counts as failed, so that the last line
 * never says less than the exit code.
 */

import { spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { allNeeds, find, mayLack, unrunnable } from "../test/support/outside-programs.ts"

const help = `npm test [-- VITEST ARGUMENT…]
npm run test:real [-- VITEST ARGUMENT…]
npm run test:long [-- VITEST ARGUMENT…]

\`npm test\` runs \`npm run check\` and, beside it, the tests that need nothing but \`npm ci\`; what the check found
is shown after the tests. \`npm run test:real\` runs the suites of test/suites.ts, which start programs, many from
outside, and \`npm run test:long\` everything, also test/long.

First they name the programs that they found, and the suites that cannot run for want of a program. Such a suite counts
as skipped; the last line but one names it. With CI=true that is a failure, unless mirrord's own programs are all that
it lacks. The last line is "N passed, N failed, N skipped"; the exit code is 0 only if nothing failed.

  --no-check  only the tests
  --help      this text

All other arguments go to vitest, for example \`npm test -- test/domain\` or \`npm test -- -t "header maps"\`. The
cases of properties follow from test/seeds.json; BRAID_TEST_SEED=7 draws those of another seed.`

/**
 * The output of vitest's JSON reporter, as far as it is used here.
 *
 * @typedef {{ readonly status: string; readonly fullName: string }} Test
 *
 * @typedef {{
 *   readonly name: string
 *   readonly status: string
 *   readonly message?: string
 *   readonly startTime: number
 *   readonly endTime: number
 *   readonly assertionResults: ReadonlyArray<Test>
 * }} File
 *
 * @typedef {{ readonly success: boolean; readonly testResults: ReadonlyArray<File> }} Report
 *
 * @typedef {import("../test/support/outside-programs.ts").Unrunnable} Unrunnable
 */

const root = fileURLToPath(new URL("..", import.meta.url))
const own = new Set(["--help", "--long", "--no-check", "--real"])
const args = process.argv.slice(2)
const asked = new Set(args.filter((arg) => own.has(arg)))
const forVitest = args.filter((arg) => !own.has(arg))
const ci = /^(1|true)$/i.test(process.env["CI"] ?? "")
const isLong = asked.has("--long")
const isReal = asked.has("--real")
/** The command whose suites may need programs from outside. */
const command = isLong ? "test:long" : "test:real"
const projects = isLong ? ["tests", "real", "long"] : [isReal ? "real" : "tests"]

const folder = mkdtempSync(join(tmpdir(), "braid-test-"))
process.on("exit", () => rmSync(folder, { recursive: true, force: true }))
// Ctrl-C reaches the programs too, and their end ends this one.
process.on("SIGINT", () => {})
/** Variables of all programs that this one starts. */
const shared = {
  // Tests start some hundred programs of this repository; only the first of each kind has to compile it.
  NODE_COMPILE_CACHE: join(folder, "compiled")
}

/**
 * Runs a program to its end. Its output goes where ours goes, or to `write`, if that is given.
 *
 * @param {string} command
 * @param {ReadonlyArray<string>} rest
 * @param {{ readonly env?: Readonly<Record<string, string>>; readonly write?: (chunk: Buffer) => void }} [how]
 * @returns {Promise<boolean>} whether its exit code was 0
 */
const run = (command, rest, { env = {}, write } = {}) =>
  new Promise((resolve) => {
    const output = write === undefined ? "inherit" : "pipe"
    const child = spawn(command, rest, {
      cwd: root,
      stdio: [write === undefined ? "inherit" : "ignore", output, output],
      env: { ...process.env, ...shared, ...env }
    })
    for (const stream of [child.stdout, child.stderr]) stream?.on("data", (chunk) => write?.(chunk))
    child.once("error", ({ message }) => {
      console.error(`${command} could not be started: ${message} (is \`npm ci\` done?)`)
      resolve(false)
    })
    child.once("close", (code) => resolve(code === 0))
  })

/** @param {string} path @returns {Report | undefined} */
const readReport = (path) => {
  try {
    return JSON.parse(readFileSync(path, "utf8"))
  } catch {
    return undefined
  }
}

/** @param {ReadonlyArray<string>} rest @param {ReadonlyArray<Unrunnable>} notRun */
const runTests = async (rest, notRun) => {
  const path = join(folder, "report.json")
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${path}`]
  const env = {
    BRAID_TEST_LONG: String(isLong),
    BRAID_TEST_LEFT_OUT: notRun.map(({ suite }) => suite).join(),
    // API servers take a fifth of a full run's time, and a quarter of that collects garbage; they have memory enough.
    GOGC: process.env["GOGC"] ?? "400"
  }
  const projectFlags = projects.map((name) => `--project=${name}`)
  const passed = await run("vitest", ["run", ...projectFlags, ...reporters, ...rest], { env })
  return { passed, report: readReport(path) }
}

/**
 * Runs the check beside the tests, which leave a core idle at times; what it prints is shown when both have ended.
 *
 * @returns {Promise<{ readonly checked: boolean; readonly findings: string }>}
 */
const runCheck = async () => {
  /** @type {Buffer[]} */
  const chunks = []
  const checked = await run(process.execPath, [join(root, "scripts", "check.mjs")], {
    write: (chunk) => chunks.push(chunk)
  })
  return { checked, findings: Buffer.concat(chunks).toString("utf8") }
}

/** @param {ReadonlyArray<Unrunnable>} left */
const namesOf = (left) => left.map(({ lacks, suite }) => `${suite} (${lacks.join(", ")})`).join(", ")

/** @param {ReadonlyArray<Unrunnable>} left */
const sayFound = (left) => {
  const found = allNeeds.map((need) => /** @type {const} */ ([need, find(need)]))
  const there = found.flatMap(([need, one]) => (one._tag === "Found" ? [need] : []))
  console.log(`found here: ${there.join(", ") || "no program from outside"}`)
  for (const [need, one] of found) if (one._tag === "Missing") console.log(`missing here: ${need}: ${one.sentence}`)
  console.log(
    left.length === 0
      ? `every suite of \`npm run ${command}\` can run here`
      : `cannot run here, of \`npm run ${command}\`: ${namesOf(left)}`
  )
}

/**
 * The suites that are left out of this run: those that lack something, as far as the arguments do not name others.
 *
 * @param {ReadonlyArray<Unrunnable>} left
 */
const leftOut = (left) => {
  const paths = forVitest.filter((arg) => arg.startsWith("test/"))
  if (!isReal && !isLong) return []
  return left.filter(({ suite }) => paths.length === 0 || paths.some((path) => `test/${suite}.test.ts`.includes(path)))
}

/** @param {ReadonlyArray<File>} files */
const sayLongest = (files) => {
  const seconds = files.map(({ endTime, name, startTime }) => ({ name, took: (endTime - startTime) / 1_000 }))
  const longest = seconds.toSorted((one, other) => other.took - one.took).slice(0, 20)
  console.log(`longest: ${longest.map(({ name, took }) => `${relative(root, name)} ${took.toFixed(0)} s`).join(", ")}`)
}

const main = async () => {
  const left = unrunnable().filter((suite) => isLong || !suite.isLong)
  sayFound(left)
  const notRun = leftOut(left)
  const [{ checked, findings }, { passed, report }] = await Promise.all([
    asked.has("--no-check") || isReal ? { checked: true, findings: "" } : runCheck(),
    runTests([...forVitest, ...(notRun.length > 0 ? ["--passWithNoTests"] : [])], notRun)
  ])
  process.stdout.write(findings)
  const files = report?.testResults ?? []
  const tests = files.flatMap((file) => file.assertionResults.map((test) => ({ file: file.name, ...test })))
  const broken = files.filter(
    (file) => file.status === "failed" && !file.assertionResults.some((test) => test.status === "failed")
  )
  const skipped = tests.filter((test) => test.status !== "passed" && test.status !== "failed")
  const failedTests = tests.filter((test) => test.status === "failed")

  /** @type {string[]} */
  const others = []
  if (!checked) others.push("npm run check")
  if (report === undefined) others.push("vitest ended without a report")
  for (const file of broken) others.push(`${file.name} (could not be run: ${(file.message ?? "").split("\n")[0]})`)
  // Vitest can fail although no test did: by an error outside of any test, by finding no tests, by a threshold.
  if (report !== undefined && !passed && broken.length + failedTests.length === 0)
    others.push("vitest, outside of the tests")
  if (ci) {
    for (const { lacks, suite } of notRun) {
      const needed = lacks.filter((need) => !mayLack(need))
      if (needed.length > 0) others.push(`${suite} (could not be run for want of ${needed.join(", ")})`)
    }
    for (const test of skipped) others.push(`${test.file} > ${test.fullName} (skipped with CI=true)`)
  }
  sayLongest(files)
  for (const what of others) console.log(`failed: ${what}`)
  if (isReal || isLong) console.log(notRun.length === 0 ? "every suite ran" : `did not run: ${namesOf(notRun)}`)

  const failed = failedTests.length + others.length
  const countSkipped = skipped.length + notRun.length
  console.log(`${tests.length - failedTests.length - skipped.length} passed, ${failed} failed, ${countSkipped} skipped`)
  process.exitCode = failed === 0 && passed ? 0 : 1
}

if (asked.has("--help")) console.log(help)
else await main()
