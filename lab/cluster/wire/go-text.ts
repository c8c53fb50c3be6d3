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
