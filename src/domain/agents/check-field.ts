/**
 * Judges a value of `agent-config.yaml` by its shape, and says what is wrong with it and what would be right.
 *
 * Not here: the fields and their shapes (agent-fields.ts).
 */

import type { MistakeList } from "../fleet/mistakes.ts"
import { type JsonObject, isObject } from "../json.ts"
import { isObjectName } from "../targets/target-path.ts"
import type { Shape } from "./agent-fields.ts"

type PlainKind = Exclude<Shape["kind"], "whole" | "words">
interface Rule {
  readonly holds: (value: unknown) => boolean
  readonly problem: string
  readonly cure: string
}
const isText = (value: unknown): value is string => typeof value === "string"
const listRule: Rule = { holds: Array.isArray, problem: "it must be a list", cure: "write it as a list" }
const mapRule: Rule = { holds: isObject, problem: "it must be a map", cure: "write keys below it" }

const anything: Rule = { holds: () => true, problem: "", cure: "" }

const rules: Readonly<Record<PlainKind, Rule>> = {
  text: { holds: isText, problem: "it must be text", cure: "write it in quotes" },
  name: {
    holds: (value) => isText(value) && (value === "" || isObjectName(value)),
    problem: "it must be the name of an object",
    cure: "write its name"
  },
  truth: {
    holds: (value) => typeof value === "boolean",
    problem: "it must be true or false",
    cure: "write true or false without quotes"
  },
  quantity: {
    holds: (value) => isText(value) || typeof value === "number",
    problem: "it must be a quantity",
    cure: "write for example 100Mi"
  },
  image: {
    holds: (value) => isText(value) || isObject(value),
    problem: "it must be text, or a map of registry and tag",
    cure: "write it in quotes"
  },
  references: listRule,
  any: anything,
  list: listRule,
  map: mapRule,
  fields: mapRule
}

const ruleOf = (shape: Shape): Rule => {
  if (shape.kind === "whole") {
    const { least, most } = shape
    return {
      holds: (value) => Number.isInteger(value) && Number(value) >= least && Number(value) <= most,
      problem: `it must be a whole number from ${least} to ${most}`,
      cure: "write it without quotes"
    }
  }
  if (shape.kind === "words") {
    const { words: known } = shape
    return {
      holds: (value) => isText(value) && known.includes(value),
      problem: `it must be one of ${known.join(", ")}`,
      cure: "write one of them"
    }
  }
  return rules[shape.kind]
}

const isUnset = (value: unknown): boolean => value === undefined || value === null

const checkFields = (
  known: Readonly<Record<string, Shape>>,
  value: JsonObject,
  field: string,
  mistakes: MistakeList
): void => {
  for (const [name, found] of Object.entries(value)) {
    const shape = Object.hasOwn(known, name) ? known[name] : undefined
    if (shape === undefined) {
      const names = Object.keys(known).toSorted().join(", ")
      mistakes.add(`${field}.${name}`, found, "there is no such field", `write one of ${names}`)
    } else if (!isUnset(found)) checkField(shape, found, `${field}.${name}`, mistakes)
  }
}

const isReference = (value: unknown): boolean => isObject(value) && isText(value["name"]) && isObjectName(value["name"])

const checkItems = (shape: Shape, items: ReadonlyArray<unknown>, field: string, mistakes: MistakeList): void => {
  for (const [index, found] of items.entries()) {
    const place = `${field}[${index}]`
    if (shape.kind === "list") checkField(shape.of, found, place, mistakes)
    else if (!isReference(found))
      mistakes.add(place, found, "it must be a map with the name of a Secret", "write for example {name: registry}")
  }
}

/** Adds what is wrong with the value of a field, which is set. */
export const checkField = (shape: Shape, value: unknown, field: string, mistakes: MistakeList): void => {
  const { cure, holds, problem } = ruleOf(shape)
  if (!holds(value)) mistakes.add(field, value, problem, cure)
  else if (Array.isArray(value)) checkItems(shape, value, field, mistakes)
  else if (!isObject(value)) return
  else if (shape.kind === "fields" || shape.kind === "image") checkFields(shape.fields, value, field, mistakes)
  else if (shape.kind === "map") {
    for (const [name, found] of Object.entries(value))
      if (!isUnset(found)) checkField(shape.of, found, `${field}.${name}`, mistakes)
  }
}
