// @ts-check
/**
 * Writes the Containerfile of the operator's image. Its content is described in image.mjs; no image is built here.
 */

import { readFileSync, writeFileSync } from "node:fs"
import { containerfile } from "./image.mjs"

if (process.argv.includes("--help")) {
  console.log(`node scripts/generate-containerfile.mjs

Writes Containerfile as scripts/image.mjs describes the image, with the version of package.json. \`npm run check\`
compares.`)
} else {
  const root = new URL("..", import.meta.url)
  writeFileSync(
    new URL("Containerfile", root),
    containerfile(JSON.parse(readFileSync(new URL("package.json", root), "utf8")).version)
  )
}
