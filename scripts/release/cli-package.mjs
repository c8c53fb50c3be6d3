// @ts-check
/**
 * Packs the program `braid` for people as an npm package, which needs no dependency: `npx ./braid-cli-X.Y.Z.tgz
 * status`, and after an installation also `kubectl braid`. Publishes nothing.
 */

import { copyFileSync, mkdirSync, readdirSync, renameSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { image } from "../image.mjs"
import { runProgram } from "../run-program.mjs"
import { stageImage } from "../stage-image.mjs"

const readme = `# braid-cli

The commands of braid, one mirrord session over many Kubernetes clusters, for people: \`braid --help\` lists them. As
\`kubectl-braid\` it is also a plugin of kubectl: \`kubectl braid status\`.
`

/**
 * Writes `braid-cli-VERSION.tgz` into a folder, and returns the packages in it, `node_modules/…` from the root.
 *
 * @param {{
 *   readonly root: string
 *   readonly temporary: string
 *   readonly out: string
 *   readonly version: string
 * }} options
 */
export const packCli = async ({ out, root, temporary, version }) => {
  const folder = join(temporary, "cli")
  const packages = await stageImage(root, join(folder, "app"))
  for (const name of readdirSync(join(folder, "app"))) {
    const isNotice = image.files.includes(name) || !name.endsWith(".mjs")
    if (isNotice) renameSync(join(folder, "app", name), join(folder, name))
  }
  const program = `app/${image.entry}`
  writeFileSync(join(folder, "README.md"), readme)
  const described = {
    name: "braid-cli",
    version,
    description: "The commands of braid, one mirrord session over many Kubernetes clusters",
    license: "MIT",
    type: "module",
    bin: { braid: program, "kubectl-braid": program },
    // As the image has it, with which every command is tested.
    engines: { node: ">=24" }
  }
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(described, null, 2)}\n`)
  const packed = await runProgram("the command-line package", ["npm", "pack", "--silent"], { cwd: folder })
  mkdirSync(out, { recursive: true })
  copyFileSync(join(folder, packed.trim()), join(out, packed.trim()))
  return packages
}
