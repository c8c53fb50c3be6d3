/**
 * The files of shell and awk in this folder, as they are on the disk when this is loaded. A bundle has them in it:
 * scripts/bundle.mjs loads this file and writes its value down in its place.
 *
 * Not here: which program an engine has, and what of a file goes into a pod (programs.ts).
 */

import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

const folder = import.meta.dirname

/** The texts by the path below this folder, such as `postgresql/copy.sh`. */
export const programFiles: Readonly<Record<string, string>> = Object.fromEntries(
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .filter((file) => /\.(?:awk|sh)$/u.test(file))
    .toSorted()
    .map((file) => [file, readFileSync(join(folder, file), "utf8")])
)
