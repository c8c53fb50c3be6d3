/**
 * JSON merge patches, by which objects are changed without touching the fields of other writers.
 *
 * Not here: preconditions of a write (object-meta.ts).
 */

import { isObject, jsonEqual, type JsonObject } from "../json.ts"

/** A JSON merge patch (RFC 7396): `null` removes a key, objects are merged, everything else replaces. */
export interface MergePatch {
  readonly [key: string]: unknown
}

/**
 * The patch that turns `from` into `to`. It mentions only what differs; `undefined` if they are equal. A field that is
 * `undefined` counts as absent. Fields that neither object names, such as those of other writers, are left alone.
 */
export const mergePatch = (from: object, to: object): MergePatch | undefined => {
  const before: Readonly<Record<string, unknown>> = { ...from }
  const after: Readonly<Record<string, unknown>> = { ...to }
  const entries = [...new Set([...Object.keys(before), ...Object.keys(after)])].flatMap(
    (key): ReadonlyArray<readonly [string, unknown]> => {
      const [old, next] = [before[key], after[key]]
      if (jsonEqual(old, next)) return []
      if (next === undefined) return [[key, null]]
      if (isObject(old) && isObject(next)) return [[key, mergePatch(old, next)]]
      return [[key, next]]
    }
  )
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

const plainValue = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(plainValue)
  if (isObject(value)) return plain(value)
  return Number.isInteger(value) ? Math.min(Number(value), Number.MAX_SAFE_INTEGER) : value
}

/**
 * An object as it means the same in two clusters: a field that is null is left out, because merge patches cannot set
 * it, and no integer is larger than one that JavaScript holds exactly: a client may ask for any TTL.
 */
export const plain = (object: Readonly<JsonObject> | null | undefined): JsonObject =>
  Object.fromEntries(
    Object.entries(object ?? {}).flatMap(([key, value]) =>
      value === null || value === undefined ? [] : [[key, plainValue(value)]]
    )
  )
