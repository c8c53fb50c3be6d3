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

/** A folder's files. @param {string} folder @returns {ReadonlyArray<Entry>} */
export const machineFolder = (folder) => readdirSync(folder).map((name) => machineFile(join(folder, name)))

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
  ["etc/passwd", "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/:/sbin/nologin\n"],
  ["etc/group", "root:x:0:\nnonroot:x:65532:\n"],
  ["etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n"]
].map(([path = "", text = ""]) => ({ path, mode: 0o644, data: Buffer.from(text) }))
