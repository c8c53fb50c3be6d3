import { celExpression } from "./cel.ts"
import { type JsonObject, asObjects, asString, at, isObject, jsonEqual } from "./json.ts"
import type { FieldError } from "./status-error.ts"

const keyword = "x-kubernetes-validations"

/** A place in an object that has rules, with what is there now and what was there before. */
type Visit = (schema: JsonObject, value: unknown, before: unknown, path: string) => void

const visitAll = (visit: Visit, schema: unknown, value: unknown, before: unknown, path: string): void => {
  if (!isObject(schema)) return
  visit(schema, value, before, path)
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) visitAll(visit, schema["items"], item, undefined, `${path}[${index}]`)
  } else if (isObject(value)) {
    for (const [key, child] of Object.entries(value)) {
      visitAll(visit, at(schema, "properties", key) ?? schema["additionalProperties"], child, at(before, key), path === "" ? key : `${path}.${key}`)
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

const only = ["rule", "message"]

/**
 * Checks the rules in a schema's `x-kubernetes-validations`. What an update leaves as it was is not checked again, so
 * that a rule that came later locks no old object (Kubernetes' ratcheting of custom resources). Throws at a rule that
 * cannot be evaluated here.
 */
export const validationRules = (root: JsonObject): ((object: JsonObject, before: unknown) => ReadonlyArray<FieldError>) => {
  const rules = new Map(
    schemasIn(root).flatMap((schema) => {
      const own = asObjects(schema[keyword]).map((rule) => {
        const other = Object.keys(rule).filter((key) => !only.includes(key))
        if (other.length > 0) throw new Error(`this server cannot evaluate a rule with ${other.join(", ")}`)
        const text = asString(rule["rule"]) ?? ""
        return { holds: celExpression(text, ["self"]), message: asString(rule["message"]) ?? `failed rule: ${text}` }
      })
      return own.length === 0 ? [] : [[schema, own] as const]
    })
  )
  if (rules.size === 0) return () => []
  return (object, before) => {
    const wrong: Array<FieldError> = []
    visitAll(
      (schema, value, old, path) => {
        const own = rules.get(schema)
        if (own === undefined || value === null || (old !== undefined && jsonEqual(value, old))) return
        for (const { holds, message } of own) {
          if (holds({ self: value }) === true) continue
          wrong.push({ reason: "FieldValueInvalid", field: path, message: `Invalid value: ${message}` })
        }
      },
      root,
      object,
      before,
      ""
    )
    return wrong
  }
}
