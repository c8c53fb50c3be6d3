// @ts-check
/**
 * Runs `npm test`, `npm run test:real` and `npm run test:long`: says what it found on this machine, runs the tests of
 * their heights, and sums everything up. A file or check that could not be run counts as failed, so that the last line
 * never says less than the exit code.
 */

import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { allNeeds, find, mayLack, unrunnable } from "../test/support/outside-programs.ts"

const help = `npm test [-- VITEST ARGUMENT…]
npm run test:real [-- VITEST ARGUMENT…]
npm run test:long [-- VITEST ARGUMENT…]

\`npm test\` runs \`npm run check\` and the tests that need nothing but \`npm ci\`. \`npm run test:real\` runs the
suites of test/suites.ts, which start programs, many from outside, and \`npm run test:long\` everything, also test/long.

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

/** @param {string} command @param {ReadonlyArray<string>} rest @param {Readonly<Record<string, string>>} [env] */
const run = (command, rest, env = {}) => {
  const { status, error } = spawnSync(command, rest, { cwd: root, stdio: "inherit", env: { ...process.env, ...env } })
  if (error !== undefined) console.error(`${command} could not be started: ${error.message} (is \`npm ci\` done?)`)
  return status === 0
}

/** @param {string} path @returns {Report | undefined} */
const readReport = (path) => {
  try {
    return JSON.parse(readFileSync(path, "utf8"))
  } catch {
    return undefined
  }
}

/** @param {ReadonlyArray<string>} rest @param {ReadonlyArray<Unrunnable>} notRun */
const runTests = (rest, notRun) => {
  const folder = mkdtempSync(join(tmpdir(), "braid-test-"))
  const path = join(folder, "report.json")
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${path}`]
  const env = {
    BRAID_TEST_LONG: String(isLong),
    BRAID_TEST_LEFT_OUT: notRun.map(({ suite }) => suite).join(),
    // Tests start some hundred programs of this repository; only the first of each kind has to compile it.
    NODE_COMPILE_CACHE: join(folder, "compiled"),
    // API servers take a fifth of a full run's time, and a quarter of that collects garbage; they have memory enough.
    GOGC: process.env["GOGC"] ?? "400"
  }
  const passed = run("vitest", ["run", ...projects.map((name) => `--project=${name}`), ...reporters, ...rest], env)
  const report = readReport(path)
  rmSync(folder, { recursive: true, force: true })
  return { passed, report }
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

const main = () => {
  const left = unrunnable().filter((suite) => isLong || !suite.isLong)
  sayFound(left)
  const notRun = leftOut(left)
  const checked = asked.has("--no-check") || isReal || run(process.execPath, [join(root, "scripts", "check.mjs")])
  const { passed, report } = runTests([...forVitest, ...(notRun.length > 0 ? ["--passWithNoTests"] : [])], notRun)
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
else main()
