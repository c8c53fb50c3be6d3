// @ts-check
import { spawnSync } from "node:child_process"
import { parseArgs } from "node:util"

const help = `npm run check

Types (tsc), lint and the walls between the rooms (oxlint with scripts/lint-walls.mjs), the format (oxfmt; \`npx oxfmt\`
puts it right), the checks for code that uses Effect (effect-tsgo), whether chart, image and operator have one version,
and whether crds/ and what the chart has from elsewhere are what their generators would write. All of them run, whatever
the first ones find. Exit code 1 if any finds something.

  --help  this text`

const root = new URL("..", import.meta.url)
const code = ["src", "lab", "test", "scripts", "vitest.config.ts"]

/** Name and command. @type {Readonly<Record<string, ReadonlyArray<string>>>} */
const parts = {
  tsc: ["tsc"],
  oxlint: ["oxlint", "--quiet", ...code],
  // `npx oxfmt` puts it right.
  oxfmt: ["oxfmt", "--check", ...code],
  // Messages are advice; errors alone make it fail.
  "effect-tsgo": ["effect-tsgo", "diagnostics", "--project", "tsconfig.json", "--severity", "error,warning"],
  versions: [process.execPath, "scripts/check-versions.mjs"],
  crds: [process.execPath, "scripts/generate-crds.mjs", "--check"],
  chart: [process.execPath, "scripts/generate-chart.mjs", "--check"]
}

/** @param {ReadonlyArray<string>} part */
const run = ([command = "", ...args]) => {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: "inherit" })
  if (error !== undefined) console.error(`${command} could not be started: ${error.message} (is \`npm ci\` done?)`)
  return status === 0
}

const { values } = parseArgs({ options: { help: { type: "boolean" } } })
if (values.help) console.log(help)
else {
  const failed = Object.entries(parts)
    .filter(([, part]) => !run(part))
    .map(([name]) => name)
  console.log(failed.length === 0 ? "check: passed" : `check: ${failed.join(", ")} failed`)
  process.exitCode = failed.length === 0 ? 0 : 1
}
