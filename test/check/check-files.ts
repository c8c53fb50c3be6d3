import { cpSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))

/**
 * What `npm run check` needs besides the code that it looks at: scripts, what they compare, and from what that is
 * generated.
 */
const files = [
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  ".oxlintrc.json",
  ".oxfmtrc.json",
  "vitest.config.ts",
  "Containerfile",
  "charts",
  "crds",
  "scripts/check.mjs",
  "scripts/check-versions.mjs",
  "scripts/generate-chart.mjs",
  "scripts/generate-crds.mjs",
  "scripts/image.mjs",
  "scripts/lint-walls.mjs",
  "scripts/release",
  "src/domain/credentials/cluster-auth.ts",
  "src/domain/fleet/configuration-fields.ts",
  "src/domain/resources"
]

export const copyCheckFiles = (target: string, more: ReadonlyArray<string> = []): void => {
  for (const file of [...files, ...more]) cpSync(join(root, file), join(target, file), { recursive: true })
}
