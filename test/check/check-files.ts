import { execFileSync } from "node:child_process"
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
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
  "CONTRIBUTING.md",
  "docs/concepts/architecture.md",
  "docs/reference",
  "scripts/chart-rights.mjs",
  "scripts/check.mjs",
  "scripts/check-shell.mjs",
  "scripts/check-versions.mjs",
  "scripts/generate-chart.mjs",
  "scripts/generate-crds.mjs",
  "scripts/generate-reference.mjs",
  "scripts/generate-rooms.mjs",
  "scripts/bundle.mjs",
  "scripts/debian-suite.mjs",
  "scripts/image",
  "scripts/image.mjs",
  "scripts/lint-house.mjs",
  "scripts/lint-walls.mjs",
  "scripts/proportion.mjs",
  "scripts/reference",
  "scripts/regular-expressions.mjs",
  "scripts/release",
  "scripts/run-program.mjs",
  "scripts/stage-image.mjs",
  "src/domain/resources",
  "test/conformance",
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

/** The files that this one imports by relative paths, and those that they import; each from the root. */
export const importsOf = (file: string, known = new Set<string>()): ReadonlySet<string> => {
  if (known.has(file)) return known
  known.add(file)
  for (const [, path = ""] of readFileSync(join(root, file), "utf8").matchAll(/from "(\.[^"]+)"/gu))
    importsOf(join(dirname(file), path), known)
  return known
}

/** The files of the source from which the generators make theirs. */
const sources = (): ReadonlyArray<string> =>
  files
    .filter((file) => /^scripts\/generate-[\w-]+\.mjs$/u.test(file))
    .flatMap((file) => [...importsOf(file)])
    .filter((file) => file.startsWith("src/"))

export const copyCheckFiles = (target: string, more: ReadonlyArray<string> = []): void => {
  for (const file of new Set([...files, ...sources(), ...more]))
    cpSync(join(root, file), join(target, file), { recursive: true })
  for (const folder of ["src", "lab", "test"]) mkdirSync(join(target, folder), { recursive: true })
  writeFileSync(join(target, "knip.json"), JSON.stringify(knip))
}

/** Makes the pages of docs/reference of a copy, as far as it has the source; it needs `node_modules`. */
export const makePages = (copy: string): void => {
  execFileSync(process.execPath, [join(copy, "scripts/generate-reference.mjs")], { stdio: "pipe" })
}
