// @ts-check
/**
 * Drops optional platform packages from package-lock.json that the registry did not have when the lock file was made:
 * `npm ci` would refuse a lock file that names them without an entry. Run it after every `npm install`; it installs
 * nothing.
 */

import { readFileSync, writeFileSync } from "node:fs"

/** @typedef {{ readonly packages: Record<string, { optionalDependencies?: Record<string, string> }> }} Lock */

const file = new URL("../package-lock.json", import.meta.url)
const before = readFileSync(file, "utf8")
const lock = /** @type {Lock} */ (JSON.parse(before))
/** @type {string[]} */
const dropped = []
for (const [path, entry] of Object.entries(lock.packages)) {
  if (path === "") continue
  for (const name of Object.keys(entry.optionalDependencies ?? {})) {
    if (lock.packages[`node_modules/${name}`] || lock.packages[`${path}/node_modules/${name}`]) continue
    delete entry.optionalDependencies?.[name]
    dropped.push(`${path}: ${name}`)
  }
}
const after = `${JSON.stringify(lock, null, 2)}\n`
if (after !== before) writeFileSync(file, after)
for (const line of dropped) console.log(`dropped ${line}`)
console.log(`${dropped.length} dropped`)
