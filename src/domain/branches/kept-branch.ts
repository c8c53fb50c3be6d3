/**
 * The part of a branch's object that an operator keeps in memory. Any developer may make such objects, of up to 1.5 MB
 * each, and a finalizer of theirs keeps an object for ever.
 *
 * Not here: how many branches there may be (branch-bounds.ts).
 */

import type { Sha256Hex } from "../fleet/cluster-name.ts"
import { asString, isObject, type JsonObject } from "../json.ts"
import { type Keeps, readMetadata, type ReadNames, type StoredObject, weightOf } from "../resources/kept-fields.ts"
import { isBeingDeleted, type ObjectMeta } from "../resources/object-meta.ts"
import { archiveMark } from "./migrations/archive-mark.ts"

/** Roughly the most memory that the spec of a branch may take, in bytes; a usual one takes a tenth of it. */
export const maxSpecBytes = 65_536

/** Longest id that is kept of a spec that is not. */
const maxId = 253

/** Annotation of a branch whose spec is too heavy and is not kept: how heavy it is, in KiB. */
export const leftOutAnnotation = "operator.metalbear.co/spec-left-out"

/** Why no branch is made of an object whose spec is too heavy to be kept; `undefined` if it is kept. */
export const leftOutProblem = ({ annotations }: Pick<ObjectMeta, "annotations">): string | undefined => {
  const found = annotations?.[leftOutAnnotation]
  return found === undefined
    ? undefined
    : `The spec takes ${/^\d{1,5}$/u.test(found) ? found : "too many"} KiB of the operator's memory, and at most ` +
        `${maxSpecBytes / 1_024} are allowed: name fewer tables, with shorter filters.`
}

const withMark = (spec: JsonObject, sha256Hex: Sha256Hex): JsonObject => {
  const { migrations } = spec
  if (!isObject(migrations) || (migrations["archive"] ?? undefined) === undefined) return spec
  // A value that is no text is refused as no archive.
  const archive = asString(migrations["archive"]) ?? ""
  return { ...spec, migrations: { ...migrations, archive: archiveMark(archive, sha256Hex) } }
}

/** The spec that stands for one that is not kept: it can be read as a branch, and asks for none. */
const slimSpec = ({ id, ttlSecs }: JsonObject): JsonObject => ({
  id: typeof id === "string" && id.length <= maxId ? id : "",
  ttlSecs: typeof ttlSecs === "number" ? ttlSecs : 0,
  target: { apiVersion: "", kind: "", name: "", container: "" },
  connectionSource: {}
})

/** The rules of a kind. */
export interface BranchKeeping {
  /** The labels and annotations that are read. */
  readonly names: ReadNames
  /** The fields of the object that are read. */
  readonly fields: Keeps
  /** The parts of a spec that are read even of a branch that has failed, or whose spec is too heavy. */
  readonly always?: (spec: JsonObject) => JsonObject
}

/**
 * A branch that is being deleted is not kept: no session may use it any more. The spec of a branch that has failed is
 * not kept.
 */
export const keepsBranch =
  ({ always, fields, names }: BranchKeeping, sha256Hex: Sha256Hex): Keeps =>
  (object) => {
    if (isBeingDeleted(object.metadata)) return undefined
    const whole = isObject(object["spec"]) ? object["spec"] : {}
    const marked: StoredObject = { ...object, spec: withMark(whole, sha256Hex) }
    const kept = fields(marked)
    if (kept === undefined) return undefined
    const { spec, status } = kept
    const metadata = readMetadata(kept.metadata, names)
    const slim = fields({ ...kept, spec: { ...slimSpec(whole), ...always?.(whole) } })?.["spec"]
    if (isObject(status) && status["phase"] === "Failed") return { ...kept, metadata, spec: slim }
    const weight = weightOf(spec)
    if (weight <= maxSpecBytes) return { ...kept, metadata }
    const annotations = { ...metadata.annotations, [leftOutAnnotation]: String(Math.ceil(weight / 1_024)) }
    return { ...kept, metadata: { ...metadata, annotations }, spec: slim }
  }
