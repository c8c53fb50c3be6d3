/**
 * Compiles the `openAPIV3Schema` of a custom resource: pruning, defaults and validation, as apiextensions-apiserver
 * derives them. Built-in kinds do not pass here: see `decoding.ts` and `checks`.
 */

import { Ajv, type ErrorObject } from "ajv"
import { type JsonObject, asObject, asStrings, isObject, setField } from "../../../src/domain/json.ts"
import type { FieldError } from "../wire/status-error.ts"
import { toFieldErrors } from "./schema-errors.ts"
import { validationRules } from "./validation-rules.ts"

/** A compiled `openAPIV3Schema` of one version of a CustomResourceDefinition. */
export interface StructuralSchema {
  /** Removes unknown fields in place; returns their paths. */
  readonly prune: (object: JsonObject) => ReadonlyArray<string>
  /** Removes illegal nulls and fills in defaults, in place. */
  readonly applyDefaults: (object: JsonObject) => void
  /** Checks an object, or its status alone for a write to that subresource. `before` is the object to be replaced. */
  readonly validate: (object: JsonObject, before?: JsonObject, part?: "status") => ReadonlyArray<FieldError>
}

const preserve = "x-kubernetes-preserve-unknown-fields"
const intOrString = "x-kubernetes-int-or-string"
const embedded = "x-kubernetes-embedded-resource"
const objectMetaFields = ["apiVersion", "kind", "metadata"]

const propertiesOf = (schema: JsonObject): JsonObject => asObject(schema["properties"])

const own = (object: JsonObject, key: string): unknown => (Object.hasOwn(object, key) ? object[key] : undefined)

const pruneValue = (
  value: unknown,
  schema: unknown,
  { isResource, path }: { readonly path: string; readonly isResource: boolean },
  removed: Array<string>
): void => {
  if (!isObject(schema)) return
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      pruneValue(item, schema["items"], { path: `${path}[${index}]`, isResource: false }, removed)
    return
  }
  if (!isObject(value)) return
  const keepsMeta = isResource || schema[embedded] === true
  for (const key of Object.keys(value)) {
    if (keepsMeta && objectMetaFields.includes(key)) continue
    const child = path === "" ? key : `${path}.${key}`
    const property = own(propertiesOf(schema), key) ?? schema["additionalProperties"]
    if (isObject(property)) pruneValue(value[key], property, { path: child, isResource: false }, removed)
    else if (property !== true && schema[preserve] !== true) {
      delete value[key]
      removed.push(child)
    }
  }
}

/** Removes each null that is neither legal nor replaced by a default, as a real server does before it checks types. */
const dropNulls = (value: unknown, schema: unknown): void => {
  if (!isObject(schema)) return
  if (Array.isArray(value)) {
    for (const item of value) dropNulls(item, schema["items"])
    return
  }
  if (!isObject(value)) return
  for (const [key, child] of Object.entries(value)) {
    const property = own(propertiesOf(schema), key) ?? schema["additionalProperties"]
    if (!isObject(property)) continue
    if (child === null && property["nullable"] !== true && property["default"] === undefined) delete value[key]
    else dropNulls(child, property)
  }
}

const defaultValue = (value: unknown, schema: unknown): void => {
  if (!isObject(schema)) return
  if (Array.isArray(value)) {
    for (const item of value) defaultValue(item, schema["items"])
    return
  }
  if (!isObject(value)) return
  for (const [key, property] of Object.entries(propertiesOf(schema))) {
    if (!isObject(property)) continue
    const current = own(value, key)
    if (
      property["default"] !== undefined &&
      (current === undefined || (current === null && property["nullable"] !== true))
    ) {
      setField(value, key, structuredClone(property["default"]))
    }
    defaultValue(own(value, key), property)
  }
  if (isObject(schema["additionalProperties"])) {
    for (const [key, item] of Object.entries(value)) {
      if (!Object.hasOwn(propertiesOf(schema), key)) defaultValue(item, schema["additionalProperties"])
    }
  }
}

const mapValues = (value: unknown, change: (item: unknown) => unknown): JsonObject =>
  Object.fromEntries(Object.entries(asObject(value)).map(([key, item]) => [key, change(item)]))

const checkedPattern = (pattern: unknown): string => {
  const text = String(pattern)
  return RegExp(text) instanceof RegExp ? text : ""
}

/** Keywords that mean the same in both. */
const sameKeywords = new Set([
  "type",
  "enum",
  "required",
  "format",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "uniqueItems",
  "multipleOf",
  "minProperties",
  "maxProperties"
])

/** In OpenAPI an exclusive bound is a flag beside the bound, in JSON schema it is the bound. */
const copyBounds = (schema: JsonObject, result: JsonObject): void => {
  for (const bound of ["minimum", "maximum"] as const) {
    if (!Object.hasOwn(schema, bound)) continue
    const exclusive = bound === "minimum" ? "exclusiveMinimum" : "exclusiveMaximum"
    result[schema[exclusive] === true ? exclusive : bound] = schema[bound]
  }
}

/** OpenAPI 3.0 as Kubernetes writes it → JSON schema draft 7 as ajv reads it. Throws on an invalid `pattern`. */
const toJsonSchema = (schema: unknown): unknown => {
  if (!isObject(schema)) return schema
  const result: JsonObject = {}
  for (const [key, value] of Object.entries(schema)) {
    if (key === "properties") result[key] = mapValues(value, toJsonSchema)
    else if (["items", "not", "additionalProperties"].includes(key)) result[key] = toJsonSchema(value)
    else if (["allOf", "anyOf", "oneOf"].includes(key) && Array.isArray(value)) result[key] = value.map(toJsonSchema)
    else if (key === "pattern") result[key] = checkedPattern(value)
    else if (sameKeywords.has(key)) result[key] = value
  }
  copyBounds(schema, result)
  if (schema[intOrString] === true) result["type"] = ["integer", "string"]
  // A real server never finds null in an enum, even if the enum lists it.
  if (Array.isArray(result["enum"])) result["enum"] = result["enum"].filter((item) => item !== null)
  return schema["nullable"] === true ? orNull(result) : result
}

/** A real server checks only type and enum of a null. */
const orNull = (schema: JsonObject): JsonObject => {
  const { type, enum: values, format, ...rest } = schema
  return {
    // A format does not constrain null, but the text of a type error needs it.
    ...(format === undefined ? {} : { format }),
    ...(type === undefined ? {} : { type: [type, "null"].flat() }),
    ...(values === undefined ? {} : { enum: values }),
    if: { type: "null" },
    else: rest
  }
}

const rfc3339 = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)$/

const makeAjv = (): Ajv => {
  const ajv = new Ajv({ allErrors: true, strict: false, verbose: true, unicodeRegExp: false })
  for (const format of [
    "int64",
    "float",
    "double",
    "byte",
    "password",
    "duration",
    "ipv4",
    "ipv6",
    "uri",
    "email",
    "uuid",
    "hostname"
  ]) {
    ajv.addFormat(format, true)
  }
  ajv.addFormat("int32", { type: "number", validate: (value: number) => value >= -(2 ** 31) && value < 2 ** 31 })
  ajv.addFormat("date-time", rfc3339)
  ajv.addFormat("date", /^\d{4}-\d\d-\d\d$/)
  return ajv
}

const once = <A>(make: () => A): (() => A) => {
  let made: { readonly value: A } | undefined
  return () => (made ??= { value: make() }).value
}

const metaSchema = once(makeAjv)

type Check = (value: unknown) => ReadonlyArray<FieldError>

/** Checks values against a schema. If all alternatives fail, a real server also reports the errors of the first. */
const compile = (schema: JsonObject): Check => {
  const jsonSchema = asObject(toJsonSchema(schema))
  metaSchema().validateSchema(jsonSchema, true)
  // Compiling takes milliseconds, and most kinds of a cluster never have an object.
  const compiled = once(() => {
    const ajv = makeAjv()
    return { ajv, check: ajv.compile(jsonSchema) }
  })
  return (value) => {
    const { ajv, check } = compiled()
    if (check(value)) return []
    const errors = (check.errors ?? []).filter(({ keyword }) => keyword !== "if")
    const alternatives = errors.filter(({ keyword }) => ["anyOf", "oneOf", "not"].includes(keyword))
    const isInside = (error: ErrorObject, path: string): boolean => error.schemaPath.startsWith(`${path}/`)
    const shown = errors.filter((error) =>
      alternatives.every(
        ({ keyword, params, schemaPath }) =>
          !isInside(error, schemaPath) ||
          ((keyword === "anyOf" || params["passingSchemas"] === null) && isInside(error, `${schemaPath}/0`))
      )
    )
    return shown.flatMap((error) => {
      const schemas: unknown = error.schema
      const passing =
        error.keyword === "oneOf" && Array.isArray(schemas)
          ? schemas.filter((alternative: object) => ajv.validate(alternative, error.data))
          : []
      return toFieldErrors(error, passing.length)
    })
  }
}

/** Errors for the duplicate items of lists of type `set` or `map`. */
const duplicates = (value: unknown, schema: unknown, path: string): ReadonlyArray<FieldError> => {
  if (!isObject(schema)) return []
  if (Array.isArray(value)) {
    const keys = asStrings(schema["x-kubernetes-list-map-keys"])
    const type = schema["x-kubernetes-list-type"]
    const identity = (item: unknown): unknown =>
      type === "map" ? Object.fromEntries(keys.map((key) => [key, asObject(item)[key]])) : item
    const inside = value.flatMap((item, index) => duplicates(item, schema["items"], `${path}[${index}]`))
    if (type !== "map" && type !== "set") return inside
    const seen = value.map((item) => JSON.stringify(identity(item)))
    return [
      ...inside,
      ...seen.flatMap((text, index) =>
        seen.indexOf(text) < index
          ? [{ reason: "FieldValueDuplicate", message: `Duplicate value: ${text}`, field: `${path}[${index}]` }]
          : []
      )
    ]
  }
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([key, item]) =>
    duplicates(
      item,
      own(propertiesOf(schema), key) ?? schema["additionalProperties"],
      path === "" ? key : `${path}.${key}`
    )
  )
}

/** Throws if the schema is no JSON schema (an unknown `type`, a bad pattern) or has a rule that cannot be evaluated. */
export const structuralSchema = (schema: JsonObject): StructuralSchema => {
  const root: JsonObject = { ...schema, properties: { ...propertiesOf(schema) } }
  for (const field of objectMetaFields) delete propertiesOf(root)[field]
  const check = compile(root)
  const checkStatus = compile(asObject(propertiesOf(root)["status"]))
  const statusErrors: Check = (status) =>
    (status === undefined ? [] : checkStatus(status)).map((error) => ({
      ...error,
      field: error.field === "<nil>" ? "status" : `status.${error.field}`
    }))
  const checkRules = validationRules(root)
  return {
    prune: (object) => {
      const removed: Array<string> = []
      pruneValue(object, root, { path: "", isResource: true }, removed)
      return removed
    },
    applyDefaults: (object) => {
      dropNulls(object, root)
      defaultValue(object, root)
    },
    validate: (object, before, part) => {
      const errors = part === undefined ? check(object) : statusErrors(object["status"])
      const found = errors.length > 0 || part !== undefined ? errors : duplicates(object, root, "")
      return [...found, ...checkRules(object, before, found)]
    }
  }
}
