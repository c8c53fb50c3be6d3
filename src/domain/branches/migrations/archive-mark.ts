/**
 * The mark that stands for the archive of migrations where only its identity and its size are needed: an archive has up
 * to a megabyte, and an operator knows hundreds of branches. The archive itself is read when its Job is made.
 *
 * Not here: reading the migrations (migration-request.ts).
 */

import type { Sha256Hex } from "../../fleet/cluster-name.ts"
import { maxArchive } from "../../resources/branches/branch-shapes.ts"

const base64 = /^[A-Za-z0-9+/]+={0,2}$/u
/** No archive looks so: a colon is no base64. */
const mark = /^sha256:[0-9a-f]{64}:(none|\d{1,10})$/u

/** The bytes that base64 stands for; `undefined` if it is none. */
const bytesOf = (text: string): number | undefined => {
  if (!base64.test(text) || text.length % 4 !== 0) return undefined
  return (text.length / 4) * 3 - Number(text.endsWith("=")) - Number(text.endsWith("=="))
}

export const isArchiveMark = (archive: string): boolean => mark.test(archive)

/** The mark of an archive, and of a mark the mark itself. */
export const archiveMark = (archive: string, sha256Hex: Sha256Hex): string =>
  isArchiveMark(archive) ? archive : `sha256:${sha256Hex(archive)}:${bytesOf(archive) ?? "none"}`

/** Why an archive, or the archive of a mark, cannot be used; `undefined` if it can. */
export const archiveProblem = (archive: string): string | undefined => {
  const [, told] = mark.exec(archive) ?? []
  const marked = told === "none" ? undefined : Number(told)
  const bytes = told === undefined ? bytesOf(archive) : marked
  if (bytes === undefined) return "spec.migrations.archive is no base64; it must be a tar.gz of the files in base64."
  return bytes > maxArchive
    ? "spec.migrations.archive is longer than 1 MiB: have fewer files, or an image with them and their locations."
    : undefined
}
