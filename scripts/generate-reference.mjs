// @ts-check
/**
 * Writes the pages of docs/reference that are made from the declarations of the source.
 *
 * Not here: their tables, which reference/ has.
 */

import { readFileSync, writeFileSync } from "node:fs"
import { conditions } from "./reference/conditions.ts"
import { conformance } from "./reference/conformance.ts"
import { events } from "./reference/events.ts"
import { metrics } from "./reference/metrics.ts"
import { textOf } from "./reference/page.ts"
import { refusals } from "./reference/refusals.ts"
import { rights } from "./reference/rights.ts"
import { settings } from "./reference/settings.ts"
import { spans } from "./reference/spans.ts"

if (process.argv.includes("--help")) {
  console.log(`node scripts/generate-reference.mjs [--check]

Writes docs/reference. --check only compares; exit code 1 names the pages that differ.`)
  process.exit(0)
}

const pages = [settings, rights, events, conditions, metrics, spans, refusals, conformance]
const folder = new URL("../docs/reference/", import.meta.url)
/** @param {URL} file */
const read = (file) => {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return ""
  }
}
const stale = pages.filter((page) => read(new URL(page.file, folder)) !== textOf(page))
const names = stale.map(({ file }) => `docs/reference/${file}`).join(", ")
if (stale.length === 0) console.log("docs/reference is up to date")
else if (process.argv.includes("--check")) {
  console.error(`Out of date: ${names}. Run: node scripts/generate-reference.mjs`)
  process.exitCode = 1
} else {
  for (const page of stale) writeFileSync(new URL(page.file, folder), textOf(page))
  console.log(`written: ${names}`)
}
