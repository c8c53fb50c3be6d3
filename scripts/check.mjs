// @ts-check
/**
 * Runs `npm run check`: programs that judge the code without its tests; the generators load the schemas of src/domain.
 * The tests are run by scripts/test.mjs.
 */

import { execFile, spawnSync } from "node:child_process"
import { parseArgs } from "node:util"

const help = `npm run check [-- PART…]

Types, and what is wrong in code that uses Effect (tsc as effect-tsgo extends it), lint with the walls between the
rooms, the bounds of functions and lines, and comments (oxlint with scripts/lint-walls.mjs and scripts/lint-house.mjs),
exports and files that nothing uses (knip), the format (oxfmt), programs of shell (scripts/check-shell.mjs, with
shellcheck if it is on the search path), whether chart, image and operator have one version, and whether crds/, what the
chart has from elsewhere and the generated pages of docs/ are what their generators would write. All of them run, two at
a time, whatever the first ones find. The last lines say which of them found something, and how to put that right. Exit
code 1 if any did.

  PART    runs this part alone; a name that is none gets the list of all
  --help  this text`

const root = new URL("..", import.meta.url)
const code = ["src", "lab", "test", "scripts", "vitest.config.ts"]

/** @typedef {{ readonly command: ReadonlyArray<string>; readonly cure: string }} Part */

/** The programs, by name; the cure ends the sentence "To put it right, …". @type {Readonly<Record<string, Part>>} */
const parts = {
  // With more checkers, each works out the same types of libraries: twice the work for half of the time.
  tsc: { command: ["sh", "-c", '"$(effect-tsgo get-exe-path)" --checkers 1'], cure: "mend what it names" },
  oxlint: {
    command: ["oxlint", "--quiet", ...code],
    cure:
      "do what each finding says: move the code to a room that may import it, cut a long function into named ones, " +
      "give many parameters as an object, split a long line, begin a comment's sentence with its subject"
  },
  knip: {
    command: ["knip", "--no-progress", "--no-config-hints"],
    cure: "remove what nothing uses, or the word `export` where its own file alone uses it"
  },
  oxfmt: { command: ["oxfmt", "--check", ...code], cure: "run `npx oxfmt` with the files that it names" },
  shell: {
    command: [process.execPath, "scripts/check-shell.mjs"],
    cure: "do what each finding says; where one is wrong, `# shellcheck disable=SC… # REASON` above the line says why"
  },
  versions: {
    command: [process.execPath, "scripts/check-versions.mjs"],
    cure: "write the version of package.json where it says"
  },
  crds: {
    command: [process.execPath, "scripts/generate-crds.mjs", "--check"],
    cure: "run `node scripts/generate-crds.mjs`, which writes crds/"
  },
  chart: {
    command: [process.execPath, "scripts/generate-chart.mjs", "--check"],
    cure: "run `node scripts/generate-chart.mjs`, which writes the generated files of the chart"
  },
  reference: {
    command: [process.execPath, "scripts/generate-reference.mjs", "--check"],
    cure: "run `node scripts/generate-reference.mjs`, which writes docs/reference"
  },
  rooms: {
    command: [process.execPath, "scripts/generate-rooms.mjs", "--check"],
    cure: "say in `holds` of scripts/lint-walls.mjs what each room holds, and run `node scripts/generate-rooms.mjs`"
  },
  proportion: { command: [process.execPath, "scripts/proportion.mjs"], cure: "see why it cannot count lines" }
}

/**
 * Runs a part, and prints its output as a whole when it has ended.
 *
 * @param {Part} part
 * @returns {Promise<boolean>} whether it found nothing
 */
const run = ({ command: [command = "", ...args] }) =>
  new Promise((resolve) => {
    execFile(command, args, { cwd: root, maxBuffer: Infinity }, (error, ...output) => {
      process.stdout.write(output.join(""))
      if (typeof error?.code === "string")
        console.error(`${command} could not be started: ${error.message} (is \`npm ci\` done?)`)
      resolve(error === null)
    })
  })

/**
 * Runs parts, each as soon as one of two places is free: tsc alone takes as long as all the others.
 *
 * @param {ReadonlyArray<readonly [string, Part]>} wanted
 * @returns {Promise<ReadonlyArray<readonly [string, Part]>>} those that found something, in the order of `wanted`
 */
const runAll = async (wanted) => {
  const waiting = [...wanted]
  /** @type {Set<string>} */
  const failed = new Set()
  const place = async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
      if (!(await run(next[1]))) failed.add(next[0])
  }
  await Promise.all([place(), place()])
  return wanted.filter(([name]) => failed.has(name))
}

const warnWithoutShellcheck = () => {
  if (spawnSync("shellcheck", ["--version"]).status !== 0)
    console.log(
      "shellcheck is not here, so of programs of shell only the form is checked: install Debian's shellcheck.\n"
    )
}

const { positionals, values } = parseArgs({ options: { help: { type: "boolean" } }, allowPositionals: true })
const unknown = positionals.filter((name) => !(name in parts))
if (values.help) console.log(help)
else if (unknown.length > 0) {
  console.error(`check: there is no part ${unknown.join(", ")}; the parts are ${Object.keys(parts).join(", ")}`)
  process.exitCode = 2
} else {
  warnWithoutShellcheck()
  const wanted = Object.entries(parts).filter(([name]) => positionals.length === 0 || positionals.includes(name))
  const failed = await runAll(wanted)
  for (const [name, { cure }] of failed) console.log(`${name} found something. To put it right, ${cure}.`)
  const names = failed.map(([name]) => name).join(", ")
  console.log(failed.length === 0 ? "check: passed" : `check: ${names} failed`)
  process.exitCode = failed.length === 0 ? 0 : 1
}
