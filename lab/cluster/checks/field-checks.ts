/**
 * Rules of single fields, and tables of them: a table names the fields of an object by their path, and the rules that
 * each has to keep (k8s.io/kubernetes `pkg/apis/core/validation`). The tables of the kinds are in `built-in-checks.ts`
 * and `pod-checks.ts`.
 */

import { asArray, asObject, asObjects, asStrings, isObject, type JsonObject } from "../../../src/domain/json.ts"
import {
  duplicateValue,
  type FieldError,
  forbiddenField,
  invalidValue,
  required,
  unsupportedValue
} from "../wire/status-error.ts"
import { labelErrors, nameProblem } from "./object-metadata.ts"

export type FieldErrors = Iterable<FieldError>

/** `field` is the path in the refusal, `value` is `undefined` if it is missing, and `owner` has the field. */
export type Rule = (field: string, value: unknown, owner: JsonObject) => FieldErrors

/**
 * A field and its rules. `a.b[].c` is the field `c` of each item of the list `b` in `a`; rules of what is inside of a
 * missing object are not asked. `a.b[]` are the items themselves.
 */
export type FieldRules = readonly [path: string, ...rules: ReadonlyArray<Rule>]

interface Place {
  readonly field: string
  readonly value: unknown
  readonly owner: JsonObject
}

function* placesOf(field: string, object: JsonObject, [step = "", ...rest]: ReadonlyArray<string>): Iterable<Place> {
  const name = step.replace("[]", "")
  const here = field === "" ? name : `${field}.${name}`
  const found = step.endsWith("[]")
    ? asArray(object[name]).map((value, index) => ({ field: `${here}[${index}]`, value, owner: object }))
    : [{ field: here, value: object[name], owner: object }]
  if (rest.length === 0) yield* found
  else for (const place of found) if (isObject(place.value)) yield* placesOf(place.field, place.value, rest)
}

/** The refusals of an object by a table, field after field. */
export function* refusals(table: ReadonlyArray<FieldRules>, field: string, object: JsonObject): FieldErrors {
  for (const [path, ...rules] of table)
    for (const place of placesOf(field, object, path.split(".")))
      for (const rule of rules) yield* rule(place.field, place.value, place.owner)
}

/** A rule that asks a table about an object. */
export const each =
  (table: ReadonlyArray<FieldRules>): Rule =>
  (field, value) =>
    refusals(table, field, asObject(value))

/** Whether a text or a list is missing or empty: Go does not tell the two apart. */
export const isBlank = (value: unknown): boolean =>
  value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0)

export const isRequired: Rule = (field, value) => (isBlank(value) ? [required(field)] : [])

/** Accepts a missing field, as the rules below do. */
const given =
  (rule: Rule): Rule =>
  (field, value, owner) =>
    isBlank(value) ? [] : rule(field, value, owner)

export const dnsName = (rule: "label" | "subdomain"): Rule =>
  given((field, value) => {
    const problem = nameProblem(rule, String(value))
    return problem === undefined ? [] : [invalidValue(field, value, problem)]
  })

export const notNegative: Rule = (field, value) =>
  typeof value === "number" && value < 0 ? [invalidValue(field, value, "must be greater than or equal to 0")] : []

export const isAmong = (...supported: ReadonlyArray<string>): Rule =>
  given((field, value) => (supported.includes(String(value)) ? [] : [unsupportedValue(field, value, supported)]))

/** Also refuses a missing number. */
export const portNumber: Rule = (field, value) =>
  typeof value === "number" && value >= 1 && value <= 65535
    ? []
    : [invalidValue(field, value ?? 0, "must be between 1 and 65535, inclusive")]

/** A port's number, or its name by IANA's rules. */
export const portNumberOrName: Rule = (field, value, owner) => {
  if (typeof value !== "string") return portNumber(field, value, owner)
  return /^[-a-zA-Z0-9]+$/.test(value)
    ? []
    : [invalidValue(field, value, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")]
}

/** For a list: no two items have the same value in `field`. */
export const unique =
  (name: string): Rule =>
  (field, value) => {
    const values = asObjects(value).map((item) => item[name])
    return values.flatMap((item, index) =>
      !isBlank(item) && values.indexOf(item) < index ? [duplicateValue(`${field}[${index}].${name}`, item)] : []
    )
  }

export const labels: Rule = labelErrors

const expressions: Rule = (field, value) => {
  const { operator, values } = asObject(value)
  if (operator === "In" || operator === "NotIn")
    return isBlank(values) ? [required(`${field}.values`, "must be specified when `operator` is 'In' or 'NotIn'")] : []
  if (operator !== "Exists" && operator !== "DoesNotExist")
    return [invalidValue(`${field}.operator`, operator ?? "", "not a valid selector operator")]
  return isBlank(values)
    ? []
    : [forbiddenField(`${field}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")]
}

export const labelSelector: Rule = each([
  ["matchLabels", labels],
  ["matchExpressions[]", expressions]
])

/** Whether a valid selector selects these labels. */
export const selects = (selector: unknown, labels: unknown): boolean => {
  if (!isObject(selector)) return false
  const found = asObject(labels)
  const fits = ({ key, operator, values }: JsonObject): boolean => {
    const value = found[String(key)]
    if (operator === "Exists") return value !== undefined
    if (operator === "DoesNotExist") return value === undefined
    const isListed = value !== undefined && asStrings(values).includes(String(value))
    return operator === "In" ? isListed : !isListed
  }
  return (
    Object.entries(asObject(selector["matchLabels"])).every(([key, value]) => found[key] === value) &&
    asObjects(selector["matchExpressions"]).every(fits)
  )
}
