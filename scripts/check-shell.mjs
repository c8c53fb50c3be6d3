// @ts-check
/**
 * Checks the programs of shell and awk: each begins with a comment and has lines of at most 120 columns, and shellcheck
 * finds nothing in those of shell, where the machine has it. npm has no package that brings it.
 */

import { spawnSync } from "node:child_process"
import { existsSync, globSync, readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"

const help = `node scripts/check-shell.mjs

Checks .ci/run and the files *.sh and *.awk of src, lab and scripts: a comment at the beginning, lines of at most 120
columns, and what shellcheck finds. Without shellcheck on the search path it checks the rest. Exit code 1 if there is
a finding.

  --help  this text`

const root = fileURLToPath(new URL("..", import.meta.url))
const longest = 120

/** The beginning of each file: what is it for? The comment ends with an empty line. */
const head = /^(?:#!.*\n)?# .+\n(?:#.*\n)*\n/u

/** @param {string} file @param {string} text @returns {ReadonlyArray<string>} */
const formOf = (file, text) => [
  ...(head.test(text) ? [] : [`${file}: begins with no comment that says what it is for, and ends with an empty line`]),
  ...text.split("\n").flatMap((line, index) => {
    const { length } = [...line]
    return length > longest ? [`${file}:${index + 1}: ${length} columns, ${longest} are allowed`] : []
  })
]

/** A line that reads another file. */
const reading = /^\. "\$\(dirname "\$0"\)\/([^"]+)"$/gmu

const check = () => {
  const files = globSync("{src,lab,scripts}/**/*.{sh,awk}", { cwd: root }).toSorted()
  const texts = new Map(files.map((file) => [file, readFileSync(join(root, file), "utf8")]))
  // A file that others read is no program: it is judged with them, which have its variables.
  const parts = new Set(
    [...texts].flatMap(([file, text]) => [...text.matchAll(reading)].map(([, part = ""]) => join(dirname(file), part)))
  )
  const ci = [".ci/run"].filter((file) => existsSync(join(root, file)))
  const programs = [...files.filter((file) => file.endsWith(".sh") && !parts.has(file)), ...ci]
  const findings = [...texts].flatMap(([file, text]) => formOf(file, text))
  for (const finding of findings) console.log(finding)
  const options = ["--format=gcc", "--external-sources", "--check-sourced", "--source-path=SCRIPTDIR"]
  const { error, status } =
    programs.length === 0
      ? { error: undefined, status: 0 }
      : spawnSync("shellcheck", [...options, "--", ...programs], { cwd: root, stdio: "inherit" })
  // The check says in its first lines that there is none.
  const isMissing = error !== undefined && "code" in error && error.code === "ENOENT"
  process.exitCode = findings.length > 0 || (status !== 0 && !isMissing) ? 1 : 0
}

const { values } = parseArgs({ options: { help: { type: "boolean" } } })
if (values.help) console.log(help)
else check()
