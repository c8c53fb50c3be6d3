import { type JsonObject, asObject, asString } from "../../../src/domain/json.ts"
import { builtInType, objectMetaType } from "../schema/built-in-models.ts"
import { type Decoder, DecodingProblem, decode } from "../schema/decoding.ts"
import { type KubeObject, apiVersionOf } from "../schema/kube-object.ts"
import type { ResourceInfo } from "../schema/resource-info.ts"
import type { ParsedText } from "../wire/http-io.ts"
import { type ApiError, badRequest, invalid, invalidValue, unsupportedValue } from "../wire/status-error.ts"
import type { ResourceRequest } from "./server-context.ts"

/** Kinds of the options that a request brings in its query, as refusals name them. */
export type OptionsKind = "CreateOptions" | "UpdateOptions" | "PatchOptions"

const fieldValidations: ReadonlyArray<string> = ["", "Ignore", "Strict", "Warn"]

export type FieldValidation = "Ignore" | "Strict" | "Warn"

/** What `fieldValidation` asks for; 422 for what is none. */
export const fieldValidationOf = (query: URLSearchParams, options: OptionsKind): FieldValidation => {
  const mode = query.get("fieldValidation") ?? ""
  if (!fieldValidations.includes(mode))
    throw invalid({ group: "meta.k8s.io", kind: options }, "", [
      unsupportedValue("fieldValidation", mode, fieldValidations)
    ])
  return mode === "Ignore" || mode === "Strict" ? mode : "Warn"
}

/** How an object is read from what was sent. */
export interface Reading {
  readonly decoder: Decoder
  /** The refusal for what cannot be read. */
  readonly refuse: (problem: string) => ApiError
}

/** Of the body of a POST or PUT. */
export const readBodyAs = (info: ResourceInfo): Reading => ({
  decoder: "json",
  refuse: (problem) =>
    badRequest(`${info.kind} in version "${info.version}" cannot be handled as a ${info.kind}: ${problem}`)
})

/** Of a patch the server shows what it became: the whole object, or of a strategic one the patch. */
export const readPatched = (decoder: Decoder, shown: string): Reading => ({
  decoder,
  refuse: (problem) => invalid({ group: "", kind: "" }, "", [invalidValue("patch", shown, problem)])
})

/** An object that was read, and the paths of fields in it that its kind does not have. */
export interface SentObject {
  readonly object: KubeObject
  readonly unknown: ReadonlyArray<string>
}

/** Reads what was sent as an object of a kind. Throws the refusal if it cannot be one. */
export const readObjectAs = (info: ResourceInfo, body: JsonObject, { decoder, refuse }: Reading): SentObject => {
  const typeMeta = { apiVersion: apiVersionOf(info), kind: info.kind }
  try {
    if (info.custom === undefined) {
      const { value, unknown } = decode(builtInType(info), body, decoder)
      return { object: { ...typeMeta, ...value, metadata: asObject(value["metadata"]) }, unknown }
    }
    const metadata = decode(objectMetaType, body["metadata"] ?? {}, decoder, "metadata")
    const object = { ...typeMeta, ...structuredClone(body), metadata: metadata.value }
    return { object, unknown: [...metadata.unknown, ...info.custom.schema.prune(object)] }
  } catch (cause) {
    throw cause instanceof DecodingProblem ? refuse(cause.message) : cause
  }
}

/** Makes a body an object of the resource of the request, or says what is wrong with it. */
export const conform = (
  body: JsonObject,
  info: ResourceInfo,
  access: ResourceRequest["access"],
  reading: Reading
): SentObject => {
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

/** What is said of fields that come twice or are not known, as far as `fieldValidation` wants it said. */
export const warningsOf = (
  mode: FieldValidation,
  duplicates: ParsedText["duplicates"],
  unknown: ReadonlyArray<string>,
  refuse: Reading["refuse"]
): ReadonlyArray<string> => {
  if (mode === "Ignore") return []
  const unknownFields = unknown.map((path) => JSON.stringify(path))
  const twice = duplicates().filter((text) => !unknownFields.some((field) => text === `duplicate field ${field}`))
  const warnings = [...twice, ...unknownFields.map((field) => `unknown field ${field}`)]
  if (mode === "Strict" && warnings.length > 0)
    throw refuse(`strict decoding error: ${warnings.map(inError).join(", ")}`)
  return warnings
}

/** Keys that come twice in YAML are told in the words of its decoder. */
const inError = (warning: string): string =>
  warning.startsWith("line ") ? `yaml: unmarshal errors:\n  ${warning}` : warning
