/**
 * From the body of a write to an object of its resource: decoding, agreement with the URL, `fieldValidation`. Rules for
 * the content of fields come later, in the store.
 */

import { type JsonObject, asObject, asString } from "../../../src/domain/json.ts"
import { builtInType, objectMetaType } from "../schema/built-in-models.ts"
import { DecodingProblem, decode } from "../schema/decoding.ts"
import { type KubeObject, apiVersionOf } from "../schema/kube-object.ts"
import type { ResourceInfo } from "../schema/resource-info.ts"
import { type ApiError, badRequest, invalid, invalidValue, unsupportedValue } from "../wire/status-error.ts"
import type { ResourceRequest } from "./server-context.ts"

/** The kinds of options in a query, as refusals name them. */
export type OptionsKind = "CreateOptions" | "UpdateOptions" | "PatchOptions"

const fieldValidations: ReadonlyArray<string> = ["", "Ignore", "Strict", "Warn"]

export type FieldValidation = "Ignore" | "Strict" | "Warn"

/** The `fieldValidation` of a query. Throws 422 for an unknown value. */
export const fieldValidationOf = (query: URLSearchParams, options: OptionsKind): FieldValidation => {
  const mode = query.get("fieldValidation") ?? ""
  if (!fieldValidations.includes(mode))
    throw invalid({ group: "meta.k8s.io", kind: options }, "", [
      unsupportedValue("fieldValidation", mode, fieldValidations)
    ])
  return mode === "Ignore" || mode === "Strict" ? mode : "Warn"
}

/** The error for an object that cannot be decoded. */
export type Reading = (problem: string) => ApiError

/** For the body of a POST or PUT. */
export const readBodyAs =
  (info: ResourceInfo): Reading =>
  (problem) =>
    badRequest(`${info.kind} in version "${info.version}" cannot be handled as a ${info.kind}: ${problem}`)

/** For the result of a patch, which the refusal shows. */
export const readPatched =
  (patched: JsonObject): Reading =>
  (problem) =>
    invalid({ group: "", kind: "" }, "", [invalidValue("patch", JSON.stringify(patched), problem)])

/** A decoded object, and the paths of its unknown fields. */
export interface SentObject {
  readonly object: KubeObject
  readonly unknown: ReadonlyArray<string>
}

/** Decodes a body as an object of a kind. Throws what `refuse` makes. */
export const readObjectAs = (info: ResourceInfo, body: JsonObject, refuse: Reading): SentObject => {
  const typeMeta = { apiVersion: apiVersionOf(info), kind: info.kind }
  try {
    if (info.custom === undefined) {
      const { value, unknown } = decode(builtInType(info), body)
      return { object: { ...typeMeta, ...value, metadata: asObject(value["metadata"]) }, unknown }
    }
    const metadata = decode(objectMetaType, body["metadata"] ?? {}, "metadata")
    const object = { ...typeMeta, ...structuredClone(body), metadata: metadata.value }
    return { object, unknown: [...metadata.unknown, ...info.custom.schema.prune(object)] }
  } catch (cause) {
    throw cause instanceof DecodingProblem ? refuse(cause.message) : cause
  }
}

/** Refuses a kind or version that differs from the URL's. */
const conformType = (body: JsonObject, info: ResourceInfo): void => {
  const expected = apiVersionOf(info)
  const kind = body["kind"] ?? info.kind
  const apiVersion = body["apiVersion"] ?? expected
  if (info.custom !== undefined && typeof body["kind"] !== "string")
    throw badRequest("Object 'Kind' is missing in the body of the request")
  if (kind !== info.kind && info.custom !== undefined) {
    const name = asString(asObject(body["metadata"])["name"]) ?? ""
    throw invalid({ group: info.group, kind: String(kind) }, name, [invalidValue("kind", kind, `must be ${info.kind}`)])
  }
  if (kind !== info.kind)
    throw badRequest(`the kind in the data (${String(kind)}) does not match the expected kind (${info.kind})`)
  if (apiVersion !== expected) {
    throw badRequest(
      `the API version in the data (${String(apiVersion)}) does not match the expected API version (${expected})`
    )
  }
}

/** {@link readObjectAs} for a request: refuses a kind, version, name or namespace that differs from the URL's. */
export const conform = (
  body: JsonObject,
  info: ResourceInfo,
  access: ResourceRequest["access"],
  reading: Reading
): SentObject => {
  conformType(body, info)
  const sent = readObjectAs(info, body, reading)
  const { metadata } = sent.object
  if (access.name !== "" && metadata.name !== undefined && metadata.name !== access.name) {
    throw badRequest(`the name of the object (${metadata.name}) does not match the name on the URL (${access.name})`)
  }
  if (access.name !== "") metadata.name = access.name
  if (info.namespaced) {
    if (metadata.namespace && metadata.namespace !== access.namespace) {
      throw badRequest("the namespace of the provided object does not match the namespace sent on the request")
    }
    metadata.namespace = access.namespace
  } else delete metadata.namespace
  return sent
}

/** Warnings about unknown fields, as `fieldValidation` wants them; `Strict` throws instead. */
export const warningsOf = (
  mode: FieldValidation,
  unknown: ReadonlyArray<string>,
  refuse: Reading
): ReadonlyArray<string> => {
  if (mode === "Ignore") return []
  const warnings = unknown.map((path) => `unknown field ${JSON.stringify(path)}`)
  if (mode === "Strict" && warnings.length > 0) throw refuse(`strict decoding error: ${warnings.join(", ")}`)
  return warnings
}
