import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { image } from "../../scripts/image.mjs"
import { stageImage } from "../../scripts/stage-image.mjs"

const root = fileURLToPath(new URL("../..", import.meta.url))

/**
 * The operator's program as the image holds it, staged at most once for each state of what it is made from.
 *
 * @returns the path of its entry
 */
export const stagedProgram = async (): Promise<string> => {
  const state = createHash("sha256")
  const scripts = ["bundle.mjs", "image.mjs", "stage-image.mjs"].map((name) => join("scripts", name))
  const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".ts"))
    .toSorted()
  for (const file of [...scripts, "package-lock.json", "tsconfig.json", ...sources.map((name) => join("src", name))])
    state.update(`${file}\n`).update(readFileSync(join(root, file)))
  const cache = join(root, "node_modules", ".cache", "braid")
  const folder = join(cache, `image-${state.digest("hex").slice(0, 16)}`)
  if (!existsSync(folder)) {
    mkdirSync(cache, { recursive: true })
    const own = `${folder}.${process.pid}`
    await stageImage(root, own)
    try {
      renameSync(own, folder)
    } catch {
      // Another file of tests was faster; its programs may be in use.
      rmSync(own, { recursive: true })
    }
  }
  return join(folder, image.entry)
}
