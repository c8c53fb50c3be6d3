import { cpSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))

/** What `npm run check` needs besides the code that it looks at. */
const files = [
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  ".oxlintrc.json",
  "Containerfile",
  "charts/mirrord-operator/Chart.yaml",
  "charts/mirrord-operator/values.yaml",
  "scripts/check.mjs",
  "scripts/check-versions.mjs",
  "scripts/image.mjs",
  "scripts/lint-walls.mjs",
  "scripts/release"
]

export const copyCheckFiles = (target: string, more: ReadonlyArray<string> = []): void => {
  for (const file of [...files, ...more]) cpSync(join(root, file), join(target, file), { recursive: true })
}
