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

const typeName = (value: unknown): string =>
  value === null
    ? "null"
    : Array.isArray(value)
      ? "array"
      : typeof value === "number" && Number.isInteger(value)
        ? "integer"
        : typeof value

/** The schema's `format`: a real server names it instead of the type when a wrong value is no text. */
const formatFor = (error: ErrorObject): string | undefined => {
  const value: unknown = error.data
  return typeof value === "string" || value === null || Array.isArray(value)
    ? undefined
    : asString(error.parentSchema?.["format"])
}

/** Go's name for the representation of a number. */
const formatName = (value: unknown): string =>
  typeof value !== "number" ? "" : Number.isInteger(value) ? "int64" : "float64"

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

const toFieldError = (error: ErrorObject, passing: number): FieldError => {
  const field = fieldPath(error.instancePath)
  const value: unknown = error.data
  const text = JSON.stringify(value) ?? "null"
  const params: JsonObject = error.params
  const limit = String(params["limit"])
  const wrong = (detail: string, reason = "FieldValueInvalid"): FieldError => ({
    reason,
    field: field === "" ? "<nil>" : field,
    message: `Invalid value: ${text}: ${field === "" ? detail : `${field} in body ${detail}`}`
  })
  switch (error.keyword) {
    case "required":
      return {
        reason: "FieldValueRequired",
        message: "Required value",
        field: join(field, asString(params["missingProperty"]) ?? "")
      }
    case "type": {
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
    case "enum": {
      const allowed = Array.isArray(params["allowedValues"]) ? params["allowedValues"] : []
      return {
        reason: "FieldValueNotSupported",
        field,
        message: `Unsupported value: ${text}: supported values: ${allowed
          .filter((item) => item !== null)
          .map((item) => JSON.stringify(item))
          .join(", ")}`
      }
    }
    case "pattern":
      return wrong(`should match '${String(params["pattern"])}'`)
    case "format":
      return params["format"] === "int32"
        ? wrongInteger(field, "int32")
        : wrong(`must be of type ${String(params["format"])}: ${text}`, "FieldValueTypeInvalid")
    case "minimum":
      return wrong(`should be greater than or equal to ${limit}`)
    case "maximum":
      return wrong(`should be less than or equal to ${limit}`)
    case "exclusiveMinimum":
      return wrong(`should be greater than ${limit}`)
    case "exclusiveMaximum":
      return wrong(`should be less than ${limit}`)
    case "multipleOf":
      return wrong(`should be a multiple of ${String(params["multipleOf"])}`)
    case "minLength":
      return wrong(`should be at least ${limit} chars long`)
    case "minItems":
      return { ...wrong(`should have at least ${limit} items`) }
    case "minProperties":
      return wrong(`should have at least ${limit} properties`)
    case "uniqueItems":
      return { reason: "FieldValueDuplicate", field, message: `Duplicate value: ${text}` }
    case "maxLength":
      return { reason: "FieldValueTooLong", field, message: `Too long: may not be more than ${limit} bytes` }
    case "maxItems":
      return {
        reason: "FieldValueTooMany",
        field,
        message: `Too many: ${Array.isArray(value) ? value.length : 0}: must have at most ${limit} items`
      }
    case "maxProperties":
      return { reason: "FieldValueTooMany", field, message: `Too many: must have at most ${limit} items` }
    case "oneOf": {
      const found = passing === 0 ? "Found none valid" : `Found ${passing} valid alternatives`
      return {
        reason: "FieldValueInvalid",
        field: "<nil>",
        message: `Invalid value: "": "${field}" must validate one and only one schema (oneOf). ${found}`
      }
    }
    case "anyOf":
      return {
        reason: "FieldValueInvalid",
        field: "<nil>",
        message: `Invalid value: "": "${field}" must validate at least one schema (anyOf)`
      }
    case "not":
      return {
        reason: "FieldValueInvalid",
        field: "<nil>",
        message: `Invalid value: "": "${field}" must not validate the schema (not)`
      }
    default:
      return wrong(error.message ?? error.keyword)
  }
}
