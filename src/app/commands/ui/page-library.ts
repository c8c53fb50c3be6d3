/**
 * The text of lit-html, by which the page of `braid ui` draws itself, as it is in its package when this is loaded. A
 * bundle has it in it: scripts/bundle.mjs loads this file and writes its value down in its place.
 *
 * Not here: the page's own script (page-script.ts).
 */

import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname, join } from "node:path"

/** The build for browsers, beside the folder with the one for Node: a module without imports. */
export const pageLibrary = readFileSync(
  join(dirname(createRequire(import.meta.url).resolve("lit-html")), "..", "lit-html.js"),
  "utf8"
)
