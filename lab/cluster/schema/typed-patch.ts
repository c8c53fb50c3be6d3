/**
 * The refusals of server-side apply before it merges: fields and types that the schema does not know, duplicate keys,
 * in the words of structured-merge-diff. Conflicts between managers are found later, in `http/server-side-apply.ts`.
 */

import { isObject } from "../../../src/domain/json.ts"
import { goText } from "../wire/go-text.ts"
import { type ListTypeAt, displayPath, itemStep } from "./field-sets.ts"
import type { FieldType } from "./field-types.ts"

const childrenOf = (
  value: object,
  visit: (key: string, item: unknown) => ReadonlyArray<string> | undefined
): ReadonlyArray<string> => {
  const problems: Array<string> = []
  for (const [key, item] of Object.entries(value)) {
    const found = visit(key, item)
    // A server stops checking an object at its first unknown field.
    if (found === undefined) return [...problems, `.${key}: field not declared in schema`]
    problems.push(...found)
  }
  return problems
}

const prefixed = (prefix: string, problems: ReadonlyArray<string>): ReadonlyArray<string> =>
  problems.map((problem) =>
    problem.startsWith(".") || problem.startsWith("[") ? prefix + problem : `${prefix}: ${problem}`
  )

const check = (
  type: FieldType,
  value: unknown,
  names: ReadonlyArray<string>,
  listType: ListTypeAt
): ReadonlyArray<string> => {
  if (value === null || value === undefined) return []
  switch (type._tag) {
    case "Struct":
      if (!isObject(value)) return [`expected map, got &{${goText(value)}}`]
      return childrenOf(value, (key, item) => {
        const field = type.field(key)
        return field === undefined ? undefined : prefixed(`.${key}`, check(field.type, item, [...names, key], listType))
      })
    case "Map":
      if (!isObject(value)) return [`expected map, got &{${goText(value)}}`]
      return childrenOf(value, (key, item) => prefixed(`.${key}`, check(type.item, item, [...names, key], listType)))
    case "List":
      if (!Array.isArray(value)) return [`expected list, got &{${goText(value)}}`]
      return checkItems(type.item, value, names, listType)
    default:
      return checkScalar(type._tag, value)
  }
}

const checkItems = (
  item: FieldType,
  value: ReadonlyArray<unknown>,
  names: ReadonlyArray<string>,
  listType: ListTypeAt
): ReadonlyArray<string> => {
  const list = listType(names)
  const steps = value.map((entry) => itemStep(list, entry))
  const twice = new Set(steps.filter((step, index) => step !== undefined && steps.indexOf(step) < index))
  return [
    ...[...twice].map((step) => `duplicate entries for key ${displayPath(step ?? "")}`),
    ...value.flatMap((entry, index) => {
      const step = steps[index]
      const place = step === undefined ? `[${index}]` : displayPath(step)
      return prefixed(place, check(item, entry, [...names, "[]"], listType))
    })
  ]
}

const checkScalar = (
  type: Exclude<FieldType["_tag"], "Struct" | "Map" | "List">,
  value: unknown
): ReadonlyArray<string> => {
  switch (type) {
    case "Text":
    case "Bytes":
    case "Time":
      return typeof value === "string" ? [] : [`expected string, got &value.valueUnstructured{Value:${goText(value)}}`]
    case "Bool":
      return typeof value === "boolean" ? [] : [`expected boolean, got &{${goText(value)}}`]
    case "Int":
    case "Float":
      return typeof value === "number"
        ? []
        : [`expected numeric (int or float), got ${goTypes[Array.isArray(value) ? "array" : typeof value] ?? ""}`]
    case "IntOrString":
    case "Quantity":
    case "Any":
      return []
  }
}

const goTypes: Readonly<Record<string, string>> = {
  string: "string",
  boolean: "bool",
  object: "map[string]interface {}",
  array: "[]interface {}"
}

/** The problem of an applied configuration; `undefined` if there is none. */
export const typedPatchProblem = (type: FieldType, applied: unknown, listType: ListTypeAt): string | undefined => {
  const problems = check(type, applied, [], listType)
  return problems.length > 1 ? `errors:\n${problems.map((problem) => `  ${problem}`).join("\n")}` : problems[0]
}
