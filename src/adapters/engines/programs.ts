/**
 * The programs of database branches, as pods have them: of each engine those of its folder here, and those that all of
 * them share. They are read when the operator starts, and one that is missing ends it.
 *
 * A file runs by itself, too: `sh postgresql/copy.sh`. A pod has one text and no files, so the lines by which a file
 * reads another one are replaced by that file. The comment at the beginning of a file and the words to `shellcheck`
 * stay here.
 *
 * Not here: the facts about an engine (src/domain/branches/dialects), and the pods (src/domain/branches/branch-pod.ts).
 */

import { posix } from "node:path"
import type { Dialect } from "../../domain/branches/dialect.ts"
import { engines } from "../../domain/branches/engines.ts"
import type { BranchPrograms } from "../../domain/branches/programs.ts"
import { programFiles } from "./program-files.ts"

/** A word to the checker of shell programs. */
const advice = /^ *# shellcheck /u
/** A line that reads another file, by its path from the folder of the file. */
const reading = /^\. "\$\(dirname "\$0"\)\/([^"]+)"$/u

const read = (file: string): string => {
  const text = programFiles[file]
  if (text === undefined) throw new Error(`There is no program ${file} in src/adapters/engines.`)
  const lines = text.split("\n")
  // The comment that says what a file is for ends with the first empty line.
  const body = lines.slice(lines.indexOf("") + 1)
  const written = body.flatMap((line): ReadonlyArray<string> => {
    const [, other] = reading.exec(line) ?? []
    if (other !== undefined) return [read(posix.join(posix.dirname(file), other)).slice(0, -1)]
    return advice.test(line) ? [] : [line]
  })
  return written.join("\n")
}

const hide = { run: read("shared/hide.sh"), filter: read("shared/hide.awk") }

const programsIn = (folder: string): BranchPrograms => ({
  copy: read(`${folder}/copy.sh`),
  serve: read(`${folder}/serve.sh`),
  started: `${folder}/started.sh` in programFiles ? read(`${folder}/started.sh`) : undefined,
  hide
})

const programs: ReadonlyMap<string, BranchPrograms> = new Map(
  Object.values(engines).flatMap(({ dialect }) =>
    dialect === undefined ? [] : [[dialect.programs, programsIn(dialect.programs)]]
  )
)

/** The programs of the pods of an engine's branches. */
export const programsOf = ({ programs: folder }: Dialect): BranchPrograms => programs.get(folder) ?? programsIn(folder)

/** Program of a run of migrations that the client has sent as an archive. */
export const migrateProgram: string = read("shared/migrate.sh")
