/** The table of planted mistakes in docs/reference/planted-mistakes.md. */

import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import type { Mutant } from "./mutant.ts"

const page = fileURLToPath(new URL("../../../docs/reference/planted-mistakes.md", import.meta.url))
const begin = "<!-- planted mistakes: written by test/simulation/mutants -->"
const end = "<!-- end of planted mistakes -->"

/** How soon each planted mistake is found. */
export const tableOf = (mutants: ReadonlyArray<Mutant>): string =>
  [
    "| Planted mistake | Stories until found | Invariant |",
    "|---|---:|---|",
    ...mutants.map(({ found, mistake }) => `| ${mistake} | ${found.story} | ${found.invariant} |`)
  ].join("\n")

const section = new RegExp(`${begin}\n[\\s\\S]*?\n${end}`)

/** The table as the docs have it. */
export const tableInDocs = (): string | undefined => {
  const found = existsSync(page) ? section.exec(readFileSync(page, "utf8")) : null
  return found?.[0].slice(begin.length + 1, -end.length - 1)
}

/** Replaces the table in the docs. */
export const writeTable = (table: string): void => {
  const text = existsSync(page) ? readFileSync(page, "utf8") : "# Planted mistakes\n"
  const block = `${begin}\n${table}\n${end}`
  writeFileSync(page, section.test(text) ? text.replace(section, () => block) : `${text}\n${block}\n`)
}
