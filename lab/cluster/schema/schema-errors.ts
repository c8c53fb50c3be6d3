/**
 * Turns the errors of ajv into the field errors of a real server (texts of k8s.io/kube-openapi `pkg/validation/errors`
 * and apiextensions-apiserver `pkg/apiserver/validation`). The checking itself is in `structural-schema.ts`.
 */

import type { ErrorObject } from "ajv"
import { type JsonObject, asString } from "../../../src/domain/json.ts"
import type { FieldError } from "../wire/status-error.ts"

const join = (path: string, key: string): string => (path === "" ? key : `${path}.${key}`)

/** `/spec/ports/0/name` → `spec.ports[0].name`. */
const fieldPath = (pointer: string): string => {
  let path = ""
  for (const raw of pointer.split("/").slice(1)) {
    const step = raw.replaceAll("~1", "/").replaceAll("~0", "~")
    path = /^\d+$/.test(step) ? `${path}[${step}]` : join(path, step)
  }
  return path
}

const typeName = (value: unknown): string => {
  if (value === null) return "null"
  if (Array.isArray(value)) return "array"
  return Number.isInteger(value) ? "integer" : typeof value
}

/** The schema's `format`: a real server names it instead of the type when a wrong value is no text. */
const formatFor = (error: ErrorObject): string | undefined => {
  const value: unknown = error.data
  return typeof value === "string" || value === null || Array.isArray(value)
    ? undefined
    : asString(error.parentSchema?.["format"])
}

/** Go's name for the representation of a number. */
const formatName = (value: unknown): string => {
  if (typeof value !== "number") return ""
  return Number.isInteger(value) ? "int64" : "float64"
}

const wrongInteger = (field: string, format: string | undefined): FieldError => ({
  reason: "FieldValueInvalid",
  field: "<nil>",
  message:
    'Invalid value: "": Checked value must be of type integer ' +
    `${format === undefined ? "(default format)" : `with format ${format}`} in ${field}`
})

/**
 * The field errors for one error of ajv: a real server refuses a number that is no integer twice. `passing`: of a
 * `oneOf`, the number of alternatives that the value satisfies.
 */
export const toFieldErrors = (error: ErrorObject, passing: number): ReadonlyArray<FieldError> => {
  const isNoInteger =
    error.keyword === "type" && typeof error.data === "number" && [error.params["type"]].flat().includes("integer")
  return isNoInteger
    ? [
        toFieldError(error, passing),
        wrongInteger(fieldPath(error.instancePath), asString(error.parentSchema?.["format"]))
      ]
    : [toFieldError(error, passing)]
}

/** An error of ajv, and what the sentences about it need. */
interface Failed {
  readonly error: ErrorObject
  readonly field: string
  readonly value: unknown
  readonly text: string
  readonly params: JsonObject
  readonly limit: string
  readonly passing: number
}

const wrong = ({ field, text }: Failed, detail: string, reason = "FieldValueInvalid"): FieldError => ({
  reason,
  field: field === "" ? "<nil>" : field,
  message: `Invalid value: ${text}: ${field === "" ? detail : `${field} in body ${detail}`}`
})

/** A refusal of the whole object, which names the field in its sentence. */
const ofObject = (message: string): FieldError => ({
  reason: "FieldValueInvalid",
  field: "<nil>",
  message: `Invalid value: "": ${message}`
})

const wrongType = ({ error, field, params, value }: Failed): FieldError => {
  const wanted = Array.isArray(params["type"])
    ? params["type"].filter((type) => type !== "null").join(",")
    : params["type"]
  const format = formatFor(error)
  const found = JSON.stringify(format === undefined ? typeName(value) : formatName(value))
  return {
    reason: "FieldValueTypeInvalid",
    field: field === "" ? "<nil>" : field,
    message:
      `Invalid value: ${found}: ${field === "" ? "" : `${field} `}in body must be of type ` +
      `${format ?? String(wanted)}: ${found}`
  }
}

const notSupported = ({ field, params, text }: Failed): FieldError => {
  const allowed = Array.isArray(params["allowedValues"]) ? params["allowedValues"] : []
  const values = allowed.filter((item) => item !== null).map((item) => JSON.stringify(item))
  return {
    reason: "FieldValueNotSupported",
    field,
    message: `Unsupported value: ${text}: supported values: ${values.join(", ")}`
  }
}

const notOne = ({ field, passing }: Failed): FieldError => {
  const found = passing === 0 ? "Found none valid" : `Found ${passing} valid alternatives`
  return ofObject(`"${field}" must validate one and only one schema (oneOf). ${found}`)
}

const tooMany = ({ field, limit, value }: Failed): FieldError => ({
  reason: "FieldValueTooMany",
  field,
  message: `Too many: ${Array.isArray(value) ? value.length : 0}: must have at most ${limit} items`
})

/** The refusals by the keyword of the schema. */
const refusals: Readonly<Record<string, (failed: Failed) => FieldError>> = {
  required: ({ field, params }) => ({
    reason: "FieldValueRequired",
    message: "Required value",
    field: join(field, asString(params["missingProperty"]) ?? "")
  }),
  type: wrongType,
  enum: notSupported,
  pattern: (failed) => wrong(failed, `should match '${String(failed.params["pattern"])}'`),
  format: (failed) =>
    failed.params["format"] === "int32"
      ? wrongInteger(failed.field, "int32")
      : wrong(failed, `must be of type ${String(failed.params["format"])}: ${failed.text}`, "FieldValueTypeInvalid"),
  minimum: (failed) => wrong(failed, `should be greater than or equal to ${failed.limit}`),
  maximum: (failed) => wrong(failed, `should be less than or equal to ${failed.limit}`),
  exclusiveMinimum: (failed) => wrong(failed, `should be greater than ${failed.limit}`),
  exclusiveMaximum: (failed) => wrong(failed, `should be less than ${failed.limit}`),
  multipleOf: (failed) => wrong(failed, `should be a multiple of ${String(failed.params["multipleOf"])}`),
  minLength: (failed) => wrong(failed, `should be at least ${failed.limit} chars long`),
  minItems: (failed) => wrong(failed, `should have at least ${failed.limit} items`),
  minProperties: (failed) => wrong(failed, `should have at least ${failed.limit} properties`),
  uniqueItems: ({ field, text }) => ({ reason: "FieldValueDuplicate", field, message: `Duplicate value: ${text}` }),
  maxLength: ({ field, limit }) => ({
    reason: "FieldValueTooLong",
    field,
    message: `Too long: may not be more than ${limit} bytes`
  }),
  maxItems: tooMany,
  maxProperties: ({ field, limit }) => ({
    reason: "FieldValueTooMany",
    field,
    message: `Too many: must have at most ${limit} items`
  }),
  oneOf: notOne,
  anyOf: ({ field }) => ofObject(`"${field}" must validate at least one schema (anyOf)`),
  not: ({ field }) => ofObject(`"${field}" must not validate the schema (not)`)
}

const toFieldError = (error: ErrorObject, passing: number): FieldError => {
  const params: JsonObject = error.params
  const failed: Failed = {
    error,
    field: fieldPath(error.instancePath),
    value: error.data,
    text: JSON.stringify(error.data) ?? "null",
    params,
    limit: String(params["limit"]),
    passing
  }
  return refusals[error.keyword]?.(failed) ?? wrong(failed, error.message ?? error.keyword)
}
