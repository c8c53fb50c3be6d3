// @ts-check
/** Runs `npm run build`: stages the tree that the operator's image holds. */

import { existsSync } from "node:fs"
import { join, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { parseArgs } from "node:util"
import { licencesFile } from "./bundle.mjs"
import { image, staged } from "./image.mjs"
import { stageImage } from "./stage-image.mjs"

const help = `npm run build [-- --out FOLDER]

Stages exactly the tree that the image holds: ${image.entry} with its parts, bundled from ${image.program} and the
packages that it needs, ${image.files.join(", ")} and ${licencesFile}. The Containerfile copies it.

  --out FOLDER  must not exist; default ${staged}, which is replaced
  --help        this text`

const root = fileURLToPath(new URL("..", import.meta.url))

/** @param {string} message @returns {never} */
const fail = (message) => {
  console.error(`npm run build: ${message}`)
  process.exit(1)
}

const readArguments = () => {
  try {
    return parseArgs({ options: { out: { type: "string" }, help: { type: "boolean" } } }).values
  } catch (error) {
    return fail(`${error instanceof Error ? error.message : String(error)}\n\n${help}`)
  }
}

const main = async () => {
  const values = readArguments()
  if (values.help) return console.log(help)
  const out = values.out === undefined ? join(root, staged) : resolve(values.out)
  if (values.out !== undefined && existsSync(out))
    fail(`--out ${values.out}: it exists; name a folder that does not, or remove it`)
  try {
    await stageImage(root, out)
  } catch (error) {
    fail(error instanceof Error ? error.message : String(error))
  }
  console.log(out)
}

await main()
