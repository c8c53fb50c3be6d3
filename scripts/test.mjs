// @ts-check
/**
 * Runs `npm test`: the check, then the tests, then one line that sums everything up. A file or check that could not be
 * run counts as failed, so that the last line never says less than the exit code.
 */

import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const help = `npm test -- [OPTION…] [VITEST ARGUMENT…]

Runs \`npm run check\`, then the tests in test/ except those in test/long. The last line is "N passed, N failed, N
skipped"; the exit code is 0 only if nothing failed. With CI=true a skipped test is a failure too, the cases of
properties follow from the commit, and a test of the suites that start real programs (vitest.config.ts) gets a second
try, which is told by the test's name.

  --long      also test/long (as \`npm run test:long\`)
  --no-check  only the tests
  --help      this text

All other arguments go to vitest, for example \`npm test -- test/domain\` or \`npm test -- -t "header maps"\`. The tests
with the real client and agent run where MIRRORD_BIN and MIRRORD_AGENT_BIN are set. BRAID_TEST_SEED=7 makes properties
draw the cases of that seed; fast-check says the seed of one that fails.`

/**
 * The output of vitest's JSON reporter, as far as it is used here. A test that passed has failure messages if its first
 * try failed.
 *
 * @typedef {{
 *   readonly status: string
 *   readonly fullName: string
 *   readonly failureMessages: ReadonlyArray<string>
 * }} Test
 *
 * @typedef {{
 *   readonly name: string
 *   readonly status: string
 *   readonly message?: string
 *   readonly assertionResults: ReadonlyArray<Test>
 * }} File
 *
 * @typedef {{ readonly success: boolean; readonly testResults: ReadonlyArray<File> }} Report
 */

const root = fileURLToPath(new URL("..", import.meta.url))
const own = new Set(["--help", "--long", "--no-check"])
const args = process.argv.slice(2)
const asked = new Set(args.filter((arg) => own.has(arg)))
const forVitest = args.filter((arg) => !own.has(arg))
const ci = /^(1|true)$/i.test(process.env["CI"] ?? "")

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

/** @param {ReadonlyArray<string>} rest @param {boolean} long */
const runTests = (rest, long) => {
  const folder = mkdtempSync(join(tmpdir(), "braid-test-"))
  const path = join(folder, "report.json")
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${path}`]
  const env = {
    BRAID_TEST_LONG: String(long),
    // Tests start some hundred programs of this repository; only the first of each kind has to compile it.
    NODE_COMPILE_CACHE: join(folder, "compiled"),
    // API servers take a fifth of a full run's time, and a quarter of that collects garbage; they have memory enough.
    GOGC: process.env["GOGC"] ?? "400"
  }
  const passed = run("vitest", ["run", ...reporters, ...rest], env)
  const report = readReport(path)
  rmSync(folder, { recursive: true, force: true })
  return { passed, report }
}

const main = () => {
  const checked = asked.has("--no-check") || run(process.execPath, [join(root, "scripts", "check.mjs")])
  const { passed, report } = runTests(forVitest, asked.has("--long"))
  const files = report?.testResults ?? []
  const tests = files.flatMap((file) => file.assertionResults.map((test) => ({ file: file.name, ...test })))
  const broken = files.filter(
    (file) => file.status === "failed" && !file.assertionResults.some((test) => test.status === "failed")
  )
  const skipped = tests.filter((test) => test.status !== "passed" && test.status !== "failed")
  const failedTests = tests.filter((test) => test.status === "failed")
  const retried = tests.filter((test) => test.status === "passed" && test.failureMessages.length > 0)

  /** @type {string[]} */
  const others = []
  if (!checked) others.push("npm run check")
  if (report === undefined) others.push("vitest ended without a report")
  for (const file of broken) others.push(`${file.name} (could not be run: ${(file.message ?? "").split("\n")[0]})`)
  // Vitest can fail although no test did: by an error outside of any test, by finding no tests, by a threshold.
  if (report !== undefined && !passed && broken.length + failedTests.length === 0)
    others.push("vitest, outside of the tests")
  if (ci && skipped.length > 0) {
    for (const test of skipped) console.log(`skipped with CI=true: ${test.file} > ${test.fullName}`)
  }
  for (const test of retried) {
    console.log(`passed on the second try: ${test.file} > ${test.fullName}`)
    for (const message of test.failureMessages) console.log(message.replace(/^/gm, "  "))
  }
  for (const what of others) console.log(`failed: ${what}`)

  const failed = failedTests.length + others.length
  console.log(
    `${tests.length - failedTests.length - skipped.length} passed, ${failed} failed, ${skipped.length} skipped`
  )
  process.exitCode = failed === 0 && passed && (!ci || skipped.length === 0) ? 0 : 1
}

if (asked.has("--help")) console.log(help)
else main()
