/**
 * Go's `%v` for JSON values: errors of a real server quote values in this form. Nothing else may rely on it, for it
 * cannot be parsed again.
 */

import { isObject } from "../../../src/domain/json.ts"

/** A JSON value as Go's `%v` prints it. */
export const goText = (value: unknown): string => {
  if (value === null || value === undefined) return "<nil>"
  if (Array.isArray(value)) return `[${value.map(goText).join(" ")}]`
  if (!isObject(value)) return String(value)
  return `map[${Object.keys(value)
    .toSorted()
    .map((key) => `${key}:${goText(value[key])}`)
    .join(" ")}]`
}
