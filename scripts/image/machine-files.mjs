// @ts-check
/**
 * Programs of this machine as the files of an image, each with the libraries that it loads. For images of tests: what
 * people install is made of pinned packages (debian-base.mjs).
 */

import { readdirSync, readFileSync, statSync } from "node:fs"
import { join } from "node:path"

/**
 * @import {Run} from "../debian-suite.mjs"
 * @import {Entry} from "./oci-archive.mjs"
 */

/**
 * A file of this machine, at its own path or another one.
 *
 * @param {string} from @param {string} [path] @returns {Entry}
 */
export const machineFile = (from, path = from) => ({
  path: path.replace(/^\//u, ""),
  mode: statSync(from).mode & 0o777,
  data: readFileSync(from)
})

/**
 * The files of a folder and of the folders in it.
 *
 * @param {string} folder @param {(path: string) => boolean} [isWanted] @returns {ReadonlyArray<Entry>}
 */
export const machineFolder = (folder, isWanted = () => true) =>
  readdirSync(folder, { recursive: true, encoding: "utf8" })
    .map((name) => join(folder, name))
    .filter((path) => isWanted(path) && statSync(path).isFile())
    .map((path) => machineFile(path))

/**
 * The libraries that programs load, at the paths at which the loader finds them.
 *
 * @param {Run} run @param {ReadonlyArray<string>} programs @returns {Promise<ReadonlyArray<Entry>>}
 */
export const librariesOf = async (run, programs) => {
  const listed = await Promise.all(programs.map((program) => run(program, ["ldd", program])))
  const paths = new Set(listed.flatMap((text) => text.match(/\/[^\s)]+(?=\s*\(0x)/gu) ?? []))
  return [...paths].map((path) => machineFile(path))
}

/** The files without which libraries do not know who runs and how names are resolved. @type {ReadonlyArray<Entry>} */
export const systemFiles = [
  ["etc/passwd", ["root:x:0:0", "engine:x:999:999", "nonroot:x:65532:65532"].map((user) => `${user}::/:\n`).join("")],
  ["etc/group", "root:x:0:\nengine:x:999:\nnonroot:x:65532:\n"],
  ["etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"]
].map(([path = "", text = ""]) => ({ path, mode: 0o644, data: Buffer.from(text) }))
