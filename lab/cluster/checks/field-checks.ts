/**
 * Checks of single fields that several kinds share (k8s.io/kubernetes `pkg/apis/core/validation`). `field` is the path
 * that the answer shows. Rules of one kind belong to the file of that kind.
 */

import { asObject, asObjects, asStrings, isObject, type JsonObject } from "../../../src/domain/json.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import { type FieldError, forbiddenField, invalidValue, required, unsupportedValue } from "../wire/status-error.ts"
import { labelErrors, nameProblem } from "./object-metadata.ts"

export type FieldErrors = Generator<FieldError, void, undefined>

export const specOf = (object: KubeObject): JsonObject => asObject(object["spec"])

/** Whether a text or a list is missing or empty: Go does not tell the two apart. */
export const isBlank = (value: unknown): boolean =>
  value === undefined || value === null || value === "" || (Array.isArray(value) && value.length === 0)

export function* isRequired(field: string, value: unknown): FieldErrors {
  if (isBlank(value)) yield required(field)
}

export function* notNegative(field: string, value: unknown): FieldErrors {
  if (typeof value === "number" && value < 0) yield invalidValue(field, value, "must be greater than or equal to 0")
}

export function* allNotNegative(prefix: string, object: JsonObject, fields: ReadonlyArray<string>): FieldErrors {
  for (const field of fields) yield* notNegative(`${prefix}.${field}`, object[field])
}

/** Accepts a missing field. */
export function* oneOf(field: string, value: unknown, supported: ReadonlyArray<string>): FieldErrors {
  if (!isBlank(value) && !supported.includes(String(value))) yield unsupportedValue(field, value, supported)
}

export function* dnsName(rule: "label" | "subdomain", field: string, value: unknown): FieldErrors {
  const problem = nameProblem(rule, String(value))
  if (problem !== undefined) yield invalidValue(field, value, problem)
}

export function* portNumber(field: string, value: unknown): FieldErrors {
  if (typeof value !== "number" || value < 1 || value > 65535)
    yield invalidValue(field, value ?? 0, "must be between 1 and 65535, inclusive")
}

/** A port name by IANA's rules. */
export function* portName(field: string, value: string): FieldErrors {
  if (value.length > 15) yield invalidValue(field, value, "must be no more than 15 characters")
  if (!/^[-a-zA-Z0-9]+$/.test(value))
    yield invalidValue(field, value, "must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
  else if (!/[a-zA-Z]/.test(value)) yield invalidValue(field, value, "must contain at least one letter (a-z)")
  if (value.includes("--")) yield invalidValue(field, value, "must not contain consecutive hyphens")
  if (/^-|-$/.test(value)) yield invalidValue(field, value, "must not begin or end with a hyphen")
}

export function* portNumberOrName(field: string, value: unknown): FieldErrors {
  yield* typeof value === "string" ? portName(field, value) : portNumber(field, value)
}

export function* countOrPercent(field: string, value: unknown): FieldErrors {
  yield* notNegative(field, value)
  if (typeof value !== "string") return
  if (!/^[0-9]+%$/.test(value)) {
    yield invalidValue(
      field,
      value,
      "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex " +
        "used for validation is '[0-9]+%')"
    )
  }
}

export function* labelSelector(field: string, selector: unknown): FieldErrors {
  yield* labelErrors(`${field}.matchLabels`, asObject(selector)["matchLabels"])
  for (const [index, { operator, values }] of asObjects(asObject(selector)["matchExpressions"]).entries()) {
    const at = `${field}.matchExpressions[${index}]`
    if (operator === "In" || operator === "NotIn") {
      if (isBlank(values)) yield required(`${at}.values`, "must be specified when `operator` is 'In' or 'NotIn'")
    } else if (operator === "Exists" || operator === "DoesNotExist") {
      if (!isBlank(values))
        yield forbiddenField(`${at}.values`, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'")
    } else yield invalidValue(`${at}.operator`, operator ?? "", "not a valid selector operator")
  }
}

/** Whether a valid selector selects these labels. */
export const selects = (selector: unknown, labels: unknown): boolean => {
  if (!isObject(selector)) return false
  const found = asObject(labels)
  const fits = ({ key, operator, values }: JsonObject): boolean => {
    const value = found[String(key)]
    if (operator === "Exists") return value !== undefined
    if (operator === "DoesNotExist") return value === undefined
    const isAmong = value !== undefined && asStrings(values).includes(String(value))
    return operator === "In" ? isAmong : !isAmong
  }
  return (
    Object.entries(asObject(selector["matchLabels"])).every(([key, value]) => found[key] === value) &&
    asObjects(selector["matchExpressions"]).every(fits)
  )
}
