/**
 * Planted mistakes: reads their files, plants one in a copy of the program, and tells stories until an invariant
 * notices.
 */

import { spawn } from "node:child_process"
import {
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { basename, join } from "node:path"
import { fileURLToPath } from "node:url"
import { parse } from "yaml"

/** A place of the program and the mistake in it. */
export interface Edit {
  /** From the repository's root. */
  readonly file: string
  /** Text that occurs exactly once in the file. */
  readonly find: string
  readonly replace: string
}

/** A planted mistake: one file `<name>.yaml` beside this file. */
export interface Mutant {
  readonly name: string
  /** The mistake as a sentence, for the table. */
  readonly mistake: string
  /** The series of stories that is told; the usual one unless given. */
  readonly series?: "sharded" | "branches"
  /** Invariants that describe this mistake. A story that breaks other invariants has found something else. */
  readonly invariants: ReadonlyArray<string>
  /** The first story from 1 on that breaks one of them, and the invariant; written by `search.ts`. */
  readonly found: { readonly story: number; readonly invariant: string }
  readonly edits: ReadonlyArray<Edit>
}

/** The result of telling stories to a mutant. */
export type Finding =
  | { readonly story: number; readonly id: string; readonly sentence: string; readonly detail: string }
  | undefined

const here = fileURLToPath(new URL(".", import.meta.url))
const root = fileURLToPath(new URL("../../..", import.meta.url))

/** The program that runs in the copy, from the repository's root. */
const teller = "test/simulation/mutants/tell-stories.ts"

/** The files of the series of stories. */
const seriesFiles = ["test/simulation/mutants/story-of-series.ts", "test/simulation/sharded-story.ts"]

/** A mutant must be found within so many stories. */
export const mostStories = 2_000

const readMutant = (file: string): Mutant => ({
  name: basename(file, ".yaml"),
  ...parse(readFileSync(join(here, file), "utf8"))
})

export const mutants: ReadonlyArray<Mutant> = readdirSync(here)
  .filter((file) => file.endsWith(".yaml"))
  .toSorted()
  .map(readMutant)

/** Finds a text, however the formatter breaks its lines. */
const pattern = (text: string): RegExp =>
  new RegExp((text.match(/\w+|[^\w\s]/gu) ?? []).map((token) => RegExp.escape(token)).join(String.raw`\s*`), "gu")

/** The file with the mistake in it. Throws if the program has changed so much that the place cannot be found. */
export const mutated = ({ file, find, replace }: Edit, text: string): string => {
  const count = [...text.matchAll(pattern(find))].length
  if (count !== 1)
    throw new Error(`${file} has the text of the planted mistake ${count} times; it must occur exactly once: ${find}`)
  return text.replace(pattern(find), () => replace)
}

/** A copy of the program with the mistake in it, and the function that removes the copy. */
const copyWith = ({ edits, name }: Mutant): { readonly folder: string; readonly remove: () => void } => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), `braid-mutant-${name}-`)))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  try {
    for (const part of ["src", "lab", "package.json"]) cpSync(join(root, part), join(folder, part), { recursive: true })
    for (const part of [teller, ...seriesFiles]) cpSync(join(root, part), join(folder, part))
    symlinkSync(join(root, "node_modules"), join(folder, "node_modules"))
    for (const edit of edits) {
      const path = join(folder, edit.file)
      writeFileSync(path, mutated(edit, readFileSync(path, "utf8")))
    }
  } catch (error) {
    remove()
    throw error
  }
  return { folder, remove }
}

/**
 * Plants the mistake in a copy of the program and tells it the stories of these numbers, up to the first that breaks an
 * expected invariant.
 */
export const findMistake = async (
  mutant: Mutant,
  numbers: { readonly from: number; readonly to: number }
): Promise<Finding> => {
  const { folder, remove } = copyWith(mutant)
  try {
    const { from, to } = numbers
    const { invariants, series = "usual" } = mutant
    const stories = spawn(process.execPath, [join(folder, teller), series, String(from), String(to), ...invariants], {
      cwd: folder,
      stdio: ["ignore", "pipe", "pipe"]
    })
    const output = { out: "", err: "" }
    stories.stdout.setEncoding("utf8").on("data", (data) => (output.out += data))
    stories.stderr.setEncoding("utf8").on("data", (data) => (output.err += data))
    const code = await new Promise((resolve, reject) => stories.on("error", reject).on("close", resolve))
    if (code !== 0) throw new Error(`${mutant.name}: the stories could not be told:\n${output.err}`)
    const found: Finding | null = JSON.parse(output.out)
    return found ?? undefined
  } finally {
    remove()
  }
}
