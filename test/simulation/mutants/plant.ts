/**
 * Loads the program with a planted mistake beside the one without, in the same process: only the files that import a
 * changed file, directly or not, are loaded again. All others, and packages, are there once.
 */

import { readFileSync } from "node:fs"
import { registerHooks, stripTypeScriptTypes } from "node:module"
import { fileURLToPath } from "node:url"
import { type Mutant, mutated } from "./mutant.ts"

const root = new URL("../../..", import.meta.url).href

/** The files of the program, which may have mistakes, and of what tells it stories. */
const isOfProgram = (url: string): boolean =>
  url.endsWith(".ts") && ["src", "lab", "test"].some((folder) => url.startsWith(`${root}${folder}/`))

/** The URL of a file, and the name of the mistake with which it is loaded; none for the program as it is. */
const read = (url: string): readonly [string, string | undefined] => {
  const [file = "", name] = url.split("?planted=")
  return [file, name]
}

/**
 * From now on an import of `FILE?planted=NAME` gives the program with that mistake. Which files import a changed file
 * is known from the imports until then, so the program without a mistake must have been loaded.
 */
export const plant = (mutants: ReadonlyArray<Mutant>): void => {
  // Node says that stripTypeScriptTypes may change; it is what Node itself loads TypeScript with.
  process.removeAllListeners("warning")
  const byName = new Map(mutants.map((mutant) => [mutant.name, mutant]))
  /** By the URL of a file: the files that import it. */
  const importers = new Map<string, Set<string>>()
  const changed = new Map<string, ReadonlySet<string>>()
  const stripped = new Map<string, string>()

  /** The files that are other ones with this mistake. */
  const changedBy = (name: string): ReadonlySet<string> => {
    const known = changed.get(name)
    if (known !== undefined) return known
    const files = new Set((byName.get(name)?.edits ?? []).map(({ file }) => `${root}${file}`))
    // A set is walked to its end, which moves on as it grows.
    for (const file of files) for (const importer of importers.get(file) ?? []) files.add(importer)
    changed.set(name, files)
    return files
  }

  const textOf = (file: string, name: string): string => {
    const edits = (byName.get(name)?.edits ?? []).filter((edit) => `${root}${edit.file}` === file)
    const known = edits.length === 0 ? stripped.get(file) : undefined
    if (known !== undefined) return known
    const original = readFileSync(fileURLToPath(file), "utf8")
    const text = stripTypeScriptTypes(edits.reduce((text, edit) => mutated(edit, text), original))
    if (edits.length === 0) stripped.set(file, text)
    return text
  }

  registerHooks({
    resolve: (specifier, context, next) => {
      const [parent, inherited] = read(context.parentURL ?? "")
      const result = next(specifier, context)
      const [file, asked] = read(result.url)
      if (!isOfProgram(file)) return result
      importers.set(file, (importers.get(file) ?? new Set()).add(parent))
      const name = asked ?? inherited
      return { ...result, url: name !== undefined && changedBy(name).has(file) ? `${file}?planted=${name}` : file }
    },
    load: (url, context, next) => {
      const [file, name] = read(url)
      return name === undefined
        ? next(url, context)
        : { format: "module", source: textOf(file, name), shortCircuit: true }
    }
  })
}
