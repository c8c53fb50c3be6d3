import { cpSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"

const root = fileURLToPath(new URL("../..", import.meta.url))

/**
 * The files that `npm run check` needs besides the code that it looks at: scripts, what they compare, and from what
 * that is generated.
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
  "scripts/check-shell.mjs",
  "scripts/check-versions.mjs",
  "scripts/generate-chart.mjs",
  "scripts/generate-crds.mjs",
  "scripts/image.mjs",
  "scripts/lint-house.mjs",
  "scripts/lint-walls.mjs",
  "scripts/regular-expressions.mjs",
  "scripts/release",
  "src/domain/agents/agent-fields.ts",
  "src/domain/clean-text.ts",
  "src/domain/fleet/credentials/cluster-auth.ts",
  "src/domain/fleet/configuration-fields.ts",
  "src/domain/json.ts",
  "src/domain/resources",
  "test/seeds.json",
  "test/suites.ts",
  "test/support/property-seed.ts",
  "test/support/seed-properties.ts",
  "test/support/vitest-context.d.ts"
]

/**
 * A part of the tree lacks most importers. There every file counts as a program, whose exports need no importer, except
 * those in a folder `parts`.
 */
const knip = {
  entry: ["**/*.{ts,mjs}", "!**/parts/**"],
  project: ["**/*.{ts,mjs}"],
  include: ["files", "exports", "types"],
  ignoreExportsUsedInFile: { interface: true, type: true }
}

export const copyCheckFiles = (target: string, more: ReadonlyArray<string> = []): void => {
  for (const file of [...files, ...more]) cpSync(join(root, file), join(target, file), { recursive: true })
  writeFileSync(join(target, "knip.json"), JSON.stringify(knip))
}
