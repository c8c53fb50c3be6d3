// @ts-check
/** Stages the tree that the operator's image holds: the bundled program, the licences. image.mjs says what it holds. */

import { chmodSync, copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { bundle } from "./bundle.mjs"
import { image } from "./image.mjs"

/**
 * A bundle of other packages than those of package-lock.json is not what was tested.
 *
 * @param {string} root @param {ReadonlyArray<string>} packages
 */
const requireLocked = (root, packages) => {
  /** @type {Readonly<Record<string, { readonly version?: string }>>} */
  const locked = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")).packages
  for (const path of packages) {
    const { version } = JSON.parse(readFileSync(join(root, path, "package.json"), "utf8"))
    if (locked[path]?.version !== version)
      throw new Error(`${path}: package-lock.json has ${locked[path]?.version}, there is ${version}; run npm ci`)
  }
}

/**
 * Stages the tree in a folder, which it replaces. Every user can read it, and none but its owner can write it. If
 * something fails, nothing is left and the folder is as before.
 *
 * @param {string} root of the repository, with its dependencies @param {string} out
 * @returns {Promise<ReadonlyArray<string>>} The packages in the program, `node_modules/…` from the root
 */
export const stageImage = async (root, out) => {
  const unfinished = join(dirname(out), `.${basename(out)}.${process.pid}`)
  try {
    mkdirSync(unfinished, { recursive: true })
    const [entry = ""] = image.entry.split(".")
    const packages = await bundle({ root, programs: { [entry]: image.program, ...image.workers }, out: unfinished })
    requireLocked(root, packages)
    for (const file of image.files) copyFileSync(join(root, file), join(unfinished, file))
    chmodSync(unfinished, 0o755)
    for (const file of readdirSync(unfinished)) chmodSync(join(unfinished, file), 0o644)
    rmSync(out, { recursive: true, force: true })
    renameSync(unfinished, out)
    return packages
  } catch (error) {
    rmSync(unfinished, { recursive: true, force: true })
    throw error
  }
}
