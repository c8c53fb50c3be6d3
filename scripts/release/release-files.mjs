// @ts-check
/**
 * Makes whatever a release's page carries, from the commit that is checked out: image, chart, command-line package,
 * bill of materials, notes and checksums. Publishes nothing.
 */

import { createHash } from "node:crypto"
import { copyFileSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { basename, dirname, join } from "node:path"
import { image } from "../image.mjs"
import { runProgram } from "../run-program.mjs"
import { billOfMaterials } from "./bill-of-materials.mjs"
import { packCli } from "./cli-package.mjs"

const chart = "charts/mirrord-operator"
const pins = "scripts/image/base-packages.json"

/**
 * Packages the committed chart, which then names its image by digest: a tag may be pushed again, and a package may not
 * change with it.
 *
 * @param {{
 *   readonly digest: string
 *   readonly helm: string
 *   readonly out: string
 *   readonly root: string
 *   readonly temporary: string
 *   readonly version: string
 * }} options
 */
const packageChart = async ({ digest, helm, out, root, temporary, version }) => {
  const listed = await runProgram("the chart", ["git", "-C", root, "ls-files", "-z", chart])
  for (const file of listed.split("\0").filter((name) => name !== "")) {
    mkdirSync(dirname(join(temporary, file)), { recursive: true })
    copyFileSync(join(root, file), join(temporary, file))
  }
  const described = join(temporary, chart, "Chart.yaml")
  const annotations = `annotations:
  imageDigest: ${digest}
  artifacthub.io/license: MIT
  artifacthub.io/images: |
    - name: operator
      image: ${image.name}:${version}@${digest}
      platforms: [linux/amd64, linux/arm64]
`
  writeFileSync(described, `${readFileSync(described, "utf8").trimEnd()}\n${annotations}`)
  await runProgram("the chart", [helm, "package", join(temporary, chart), "--destination", out])
}

/** The section of a version in a changelog, without its heading. @param {string} changelog @param {string} version */
export const notesOf = (changelog, version) => {
  const [, rest = ""] = changelog.split(`\n## [${version}]`)
  const [, body = ""] = /^[^\n]*\n([^]*?)(?=\n## \[|$(?![^]))/u.exec(rest) ?? []
  return `${body.trim()}\n`
}

/** @param {string} file */
const checksum = (file) => `${createHash("sha256").update(readFileSync(file)).digest("hex")}  ${basename(file)}\n`

/**
 * Makes the files in the folder `out`, which it replaces as a whole, and returns their names. If something fails, the
 * folder is as before.
 *
 * @param {{ readonly helm: string; readonly out: string; readonly root: string; readonly version: string }} options
 */
export const makeReleaseFiles = async ({ helm, out, root, version }) => {
  const unfinished = `${out}.${process.pid}`
  const temporary = join(unfinished, "temporary")
  try {
    mkdirSync(temporary, { recursive: true })
    const archive = join(unfinished, `braid-${version}.oci.tar`)
    const command = [process.execPath, join(root, "scripts/make-image.mjs"), "--strict", "--out", archive]
    const digest = (await runProgram("the image", command, { cwd: root })).trim()
    await packageChart({ digest, helm, out: unfinished, root, temporary, version })
    const packages = await packCli({ out: unfinished, root, temporary, version })
    writeFileSync(
      join(unfinished, `braid-${version}.cdx.json`),
      await billOfMaterials(root, join(root, pins), packages)
    )
    writeFileSync(join(unfinished, "NOTES.md"), notesOf(readFileSync(join(root, "CHANGELOG.md"), "utf8"), version))
    rmSync(temporary, { recursive: true })
    const names = readdirSync(unfinished).toSorted()
    writeFileSync(join(unfinished, "SHA256SUMS"), names.map((name) => checksum(join(unfinished, name))).join(""))
    rmSync(out, { recursive: true, force: true })
    renameSync(unfinished, out)
    return [...names, "SHA256SUMS"]
  } finally {
    rmSync(unfinished, { recursive: true, force: true })
  }
}
