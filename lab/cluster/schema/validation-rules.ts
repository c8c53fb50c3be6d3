/**
 * The `x-kubernetes-validations` of a custom resource's schema: where the rules are checked, when, and the refusals.
 * Evaluating an expression is `cel.ts`'s part.
 */

import { type JsonObject, asObjects, asString, at, isObject, jsonEqual } from "../../../src/domain/json.ts"
import type { FieldError } from "../wire/status-error.ts"
import { celExpression } from "./cel.ts"

const keyword = "x-kubernetes-validations"

/** A place of an object: its schema, its value now and its value before. */
interface Place {
  readonly schema: unknown
  readonly value: unknown
  readonly before: unknown
  readonly path: string
}

const visitAll = (visit: (place: Place & { readonly schema: JsonObject }) => void, place: Place): void => {
  const { before, path, schema, value } = place
  if (!isObject(schema)) return
  visit({ ...place, schema })
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      visitAll(visit, { schema: schema["items"], value: item, before: undefined, path: `${path}[${index}]` })
  } else if (isObject(value)) {
    for (const [key, child] of Object.entries(value)) {
      visitAll(visit, {
        schema: at(schema, "properties", key) ?? schema["additionalProperties"],
        value: child,
        before: at(before, key),
        path: path === "" ? key : `${path}.${key}`
      })
    }
  }
}

const schemasIn = (schema: unknown): ReadonlyArray<JsonObject> =>
  isObject(schema)
    ? [
        schema,
        ...Object.values(isObject(schema["properties"]) ? schema["properties"] : {}).flatMap(schemasIn),
        ...schemasIn(schema["items"]),
        ...schemasIn(schema["additionalProperties"])
      ]
    : []

const only = ["rule", "message", "optionalOldSelf"]

interface Rule {
  /** The rule compares with the old value, so it is checked at each write, even if its place did not change. */
  readonly isTransition: boolean
  readonly message: string
  readonly holds: (value: unknown, before: unknown) => boolean
}

const compileRule = (rule: JsonObject): Rule => {
  const other = Object.keys(rule).filter((key) => !only.includes(key))
  if (other.length > 0) throw new Error(`this server cannot evaluate a rule with ${other.join(", ")}`)
  const text = asString(rule["rule"]) ?? ""
  const isTransition = rule["optionalOldSelf"] === true
  const expression = celExpression(text, isTransition ? ["self", "oldSelf"] : ["self"])
  return {
    isTransition,
    message: asString(rule["message"]) ?? `failed rule: ${text}`,
    holds: (self, oldSelf) => expression({ self, oldSelf }) === true
  }
}

/** Errors after which rules cannot rely on the types (apiextensions-apiserver, `hasBlockingErr`). */
const blocking = [
  "FieldValueRequired",
  "FieldValueNotSupported",
  "FieldValueTooLong",
  "FieldValueTooMany",
  "FieldValueTypeInvalid"
]

const unchecked: FieldError = {
  reason: "FieldValueInvalid",
  field: "<nil>",
  message:
    "Invalid value: null: some validation rules were not checked because the object was invalid; correct the " +
    "existing errors to complete validation"
}

type RuleCheck = (object: JsonObject, before: unknown, errors: ReadonlyArray<FieldError>) => ReadonlyArray<FieldError>

/**
 * An update does not check unchanged values again, so that a new rule does not lock old objects (Kubernetes' ratcheting
 * of custom resources). Throws if a rule cannot be evaluated here.
 */
export const validationRules = (root: JsonObject): RuleCheck => {
  const rules = new Map(
    schemasIn(root).flatMap((schema) => {
      const own = asObjects(schema[keyword]).map(compileRule)
      return own.length === 0 ? [] : [[schema, own] as const]
    })
  )
  if (rules.size === 0) return () => []
  return (object, before, errors) => {
    if (errors.some(({ reason }) => blocking.includes(reason))) return [unchecked]
    const wrong: Array<FieldError> = []
    visitAll(
      ({ before: old, path, schema, value }) => {
        if (value === null) return
        const same = old !== undefined && jsonEqual(value, old)
        for (const { holds, isTransition, message } of rules.get(schema) ?? []) {
          if ((same && !isTransition) || holds(value, old)) continue
          wrong.push({ reason: "FieldValueInvalid", field: path, message: `Invalid value: ${message}` })
        }
      },
      { schema: root, value: object, before, path: "" }
    )
    return wrong
  }
}
