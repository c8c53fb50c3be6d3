/**
 * Turns a schema of the code into the structural schema of a CustomResourceDefinition, and says so loudly if it cannot.
 *
 * Not here: the definition around it (custom-resource-definitions.ts).
 */

import * as Schema from "effect/Schema"
import { isObject } from "../json.ts"

/** A plain JSON value. */
export type Json = string | number | boolean | null | ReadonlyArray<Json> | JsonObject
export interface JsonObject {
  readonly [key: string]: Json
}

/** Bounds that `Schema.Int` prints for every integer and that say nothing. */
const isSafeIntegerBound = (key: string, value: unknown): boolean =>
  (key === "minimum" && value === Number.MIN_SAFE_INTEGER) || (key === "maximum" && value === Number.MAX_SAFE_INTEGER)

const omit = (object: JsonObject, ...keys: ReadonlyArray<string>): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([key]) => !keys.includes(key)))

/** Annotation: fields that the schema does not name are stored unread. A keyword of structural schemas. */
export const preservesUnknownFields = "x-kubernetes-preserve-unknown-fields"

/** Annotation: optional fields of which an object must have exactly one. It becomes a `oneOf`. */
export const requiresExactlyOne = "x-exactly-one"

/**
 * Annotation: the API server refuses a longer text. It becomes a `maxLength`, in Unicode characters. It is no check of
 * the schema itself, since an older object with a longer text must stay readable, or its session could not be ended.
 */
export const maxText = "x-longest-text"

/** Annotation of a list or a map: the API server refuses more entries. It becomes a `maxItems` or `maxProperties`. */
export const maxEntries = "x-most-entries"

/**
 * JSON Schema has `null` as an alternative; a structural schema has `nullable` instead. Beside an `enum` there is no
 * `nullable`: the API server would refuse `null` even if the list has it. Without `nullable` it drops a field that is
 * null, which means the same.
 */
const flattenNull = (node: JsonObject): JsonObject => {
  const alternatives = node["anyOf"]
  if (!Array.isArray(alternatives)) return node
  const rest = alternatives.filter((alternative: Json) => !(isObject(alternative) && alternative["type"] === "null"))
  const only = rest[0]
  if (rest.length === alternatives.length) return node
  if (rest.length !== 1 || !isObject(only))
    throw new Error("a nullable union of several types is not a structural schema")
  return { ...only, ...omit(node, "anyOf"), ...(only["enum"] === undefined ? { nullable: true } : {}) }
}

/** Annotations on checked values arrive as a one-element `allOf`, which a structural schema may not use for types. */
const flattenAllOf = (node: JsonObject): JsonObject => {
  const parts = node["allOf"]
  return Array.isArray(parts) ? Object.assign({}, omit(node, "allOf"), ...parts) : node
}

/** Fields that are not named: JSON Schema allows them by default, a structural schema only by a keyword of its own. */
const closeObject = (node: JsonObject): JsonObject => {
  const rest = node["additionalProperties"]
  if (node["properties"] === undefined || rest === undefined) return node
  return { ...omit(node, "additionalProperties"), ...(rest === true ? {} : { [preservesUnknownFields]: true }) }
}

/** Spells the annotation {@link requiresExactlyOne} as a `oneOf`. */
const spellOneOf = (node: JsonObject): JsonObject => {
  const fields = node[requiresExactlyOne]
  if (!Array.isArray(fields)) return node
  return { ...omit(node, requiresExactlyOne), oneOf: fields.map((field: Json) => ({ required: [field] })) }
}

/** Spells the annotation {@link maxText} as a `maxLength`. */
const spellMaxLength = (node: JsonObject): JsonObject => {
  const longest = node[maxText]
  return longest === undefined ? node : { ...omit(node, maxText), maxLength: longest }
}

/** Spells the annotation {@link maxEntries}. */
const spellMostEntries = (node: JsonObject): JsonObject => {
  const most = node[maxEntries]
  if (most === undefined) return node
  return { ...omit(node, maxEntries), [node["type"] === "array" ? "maxItems" : "maxProperties"]: most }
}

const toStructural = (node: unknown, definitions: Readonly<Record<string, unknown>>): Json => {
  if (node === null || typeof node === "string" || typeof node === "number" || typeof node === "boolean") return node
  if (Array.isArray(node)) return node.map((item) => toStructural(item, definitions))
  if (!isObject(node)) throw new Error(`a JSON schema holds a ${typeof node}`)
  const reference = node["$ref"]
  if (typeof reference === "string") {
    const name = reference.slice(reference.lastIndexOf("/") + 1)
    const { $ref: _, ...rest } = node
    return toStructural({ ...Object.assign({}, definitions[name]), ...rest }, definitions)
  }
  const entries = Object.entries(node).flatMap(([key, value]): ReadonlyArray<readonly [string, Json]> => {
    if (isSafeIntegerBound(key, value) || key === "examples") return []
    if (key === "properties" && isObject(value)) {
      return [
        [
          key,
          Object.fromEntries(Object.entries(value).map(([name, field]) => [name, toStructural(field, definitions)]))
        ]
      ]
    }
    return [[key, toStructural(value, definitions)]]
  })
  const closed = closeObject(flattenNull(flattenAllOf(Object.fromEntries(entries))))
  return spellMostEntries(spellMaxLength(spellOneOf(closed)))
}

/**
 * A schema as the `openAPIV3Schema` of a CRD, by the rules of apiextensions.k8s.io/v1: references inlined, `null` as
 * `nullable`, no `additionalProperties` beside `properties`. Throws if the schema has no such form, which is a mistake
 * in the code and not in data.
 */
export const openApiSchema = (schema: Schema.Constraint): JsonObject => {
  const document = Schema.toJsonSchemaDocument(schema, { includeAnnotationKey: (key) => key.startsWith("x-") })
  const structural = toStructural(document.schema, document.definitions)
  if (!isObject(structural)) throw new Error("the schema of a resource must be an object")
  return structural
}

/** The schema, changed so that every object in it keeps fields that it does not name. */
export const keepingUnknownFields = (schema: Json): Json => {
  if (Array.isArray(schema)) return schema.map(keepingUnknownFields)
  if (!isObject(schema)) return schema
  const properties = schema["properties"]
  const children = Object.entries(schema).map(([key, value]): readonly [string, Json] => {
    if (key === "properties" && isObject(value)) {
      return [
        key,
        Object.fromEntries(Object.entries(value).map(([name, field]) => [name, keepingUnknownFields(field)]))
      ]
    }
    return [key, key === "items" || key === "additionalProperties" ? keepingUnknownFields(value) : value]
  })
  return { ...Object.fromEntries(children), ...(properties === undefined ? {} : { [preservesUnknownFields]: true }) }
}
