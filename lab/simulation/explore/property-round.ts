/** Runs the tests that hold properties with a seed of its own, and reads which of them failed. */

import { spawn } from "node:child_process"
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, relative } from "node:path"
import { fileURLToPath } from "node:url"
import { Effect } from "effect"

const root = fileURLToPath(new URL("../../..", import.meta.url))

/** Rooms of tests that neither start programs nor judge the repository. */
const rooms = ["domain", "adapters", "app", "lab"]

/** A property that does not hold, or a file of tests that could not be run. */
export interface BrokenProperty {
  readonly file: string
  readonly test: string
  readonly message: string
  readonly replay: string
}

/** The parts of the report of vitest's JSON reporter that are read here. */
interface Report {
  readonly testResults: ReadonlyArray<{
    readonly name: string
    readonly status: string
    readonly message?: string
    readonly assertionResults: ReadonlyArray<{
      readonly status: string
      readonly fullName: string
      readonly failureMessages: ReadonlyArray<string>
    }>
  }>
}

const propertyFiles = (): ReadonlyArray<string> =>
  rooms
    .flatMap((room) =>
      readdirSync(join(root, "test", room), { recursive: true, encoding: "utf8" }).map((file) => `test/${room}/${file}`)
    )
    .filter((file) => file.endsWith(".test.ts") && readFileSync(join(root, file), "utf8").includes('"fast-check"'))
    .toSorted()

const quoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`

/** The failures in a report. */
export const brokenIn = ({ testResults }: Report, seed: number): ReadonlyArray<BrokenProperty> =>
  testResults.flatMap(({ assertionResults, message = "", name, status }) => {
    const file = relative(root, name)
    const replay = `BRAID_TEST_SEED=${seed} npx vitest run ${file}`
    const failed = assertionResults.flatMap(({ failureMessages, fullName, status }) =>
      status === "failed"
        ? [{ file, test: fullName, message: failureMessages.join("\n"), replay: `${replay} -t ${quoted(fullName)}` }]
        : []
    )
    return failed.length === 0 && status === "failed" ? [{ file, test: "the whole file", message, replay }] : failed
  })

const readBroken = (path: string, seed: number, code: number | null): ReadonlyArray<BrokenProperty> => {
  const replay = `BRAID_TEST_SEED=${seed} npx vitest run ${rooms.map((room) => `test/${room}`).join(" ")}`
  const whole = (message: string): ReadonlyArray<BrokenProperty> => [
    { file: "vitest", test: "as a whole", message, replay }
  ]
  try {
    const broken = brokenIn(JSON.parse(readFileSync(path, "utf8")) as Report, seed)
    return code === 0 || broken.length > 0 ? broken : whole(`it ended with exit code ${code}`)
  } catch (error) {
    return whole(`it ended without a report: ${String(error)}`)
  }
}

/** Runs every file of properties once with this seed, a whole number of 32 bits. */
export const propertyRound = (seed: number, files = propertyFiles()): Effect.Effect<ReadonlyArray<BrokenProperty>> =>
  Effect.acquireUseRelease(
    Effect.sync(() => mkdtempSync(join(tmpdir(), "braid-explore-"))),
    (folder) =>
      Effect.callback<ReadonlyArray<BrokenProperty>>((resume) => {
        const path = join(folder, "report.json")
        const args = ["run", "--project=tests", "--reporter=json", `--outputFile=${path}`, ...files]
        const child = spawn(process.execPath, [join(root, "node_modules/vitest/vitest.mjs"), ...args], {
          cwd: root,
          env: { ...process.env, BRAID_TEST_SEED: String(seed) },
          stdio: "ignore"
        })
        const ended = (code: number | null): void => resume(Effect.sync(() => readBroken(path, seed, code)))
        child.once("close", ended).once("error", () => ended(null))
        return Effect.sync(() => child.kill("SIGKILL"))
      }),
    (folder) => Effect.sync(() => rmSync(folder, { recursive: true, force: true }))
  )
