/**
 * A real server's refusals of webhooks in a MutatingWebhookConfiguration (k8s.io/kubernetes
 * `pkg/apis/admissionregistration/validation`). Left out are a `*` beside other values in a rule, and match
 * conditions.
 */

import { asArray, asString, isObject } from "../../../src/domain/json.ts"
import { type FieldError, invalidValue, required, unsupportedValue } from "../wire/status-error.ts"
import {
  each,
  type FieldRules,
  isAmong,
  isBlank,
  isRequired,
  labelSelector,
  portNumber,
  type Rule,
  unique
} from "./field-checks.ts"
import { nameProblem } from "./object-metadata.ts"

const domain: Rule = (field, value) => {
  const name = asString(value) ?? ""
  if (name === "") return [required(field)]
  const problem =
    nameProblem("subdomain", name) ??
    (name.split(".").length < 3 ? "should be a domain with at least three segments separated by dots" : undefined)
  return problem === undefined ? [] : [invalidValue(field, name, problem)]
}

const known = ["v1", "v1beta1"]

const reviewVersions: Rule = (field, value) => {
  if (isBlank(value)) return [required(field, `must specify one of ${known.join(", ")}`)]
  return asArray(value).some((version) => known.includes(String(version)))
    ? []
    : [invalidValue(field, value, `must include at least one of ${known.join(", ")}`)]
}

const effects = ["None", "NoneOnDryRun"]

const sideEffects: Rule = (field, value) => {
  if (isBlank(value)) return [required(field, `must specify one of ${effects.join(", ")}`)]
  return effects.includes(String(value)) ? [] : [unsupportedValue(field, value, effects)]
}

const timeout: Rule = (field, value) =>
  typeof value === "number" && (value < 1 || value > 30)
    ? [invalidValue(field, value, "the timeout value must be between 1 and 30 seconds")]
    : []

const url: Rule = (field, value) => {
  const parts = /^(?:([^:/?#]*):)?(?:\/\/([^/?#]*))?[^?#]*(?:\?([^#]*))?/su.exec(asString(value) ?? "")
  const [, scheme = "", authority = "", query = ""] = parts ?? []
  const form = "desired format: https://host[/path]"
  const refuse = (isWrong: boolean, part: string, detail: string): ReadonlyArray<FieldError> =>
    isWrong ? [invalidValue(field, part, detail)] : []
  return [
    ...refuse(scheme !== "https", scheme, `'https' is the only allowed URL scheme; ${form}`),
    ...refuse(authority === "", "", `host must be specified; ${form}`),
    ...refuse(query !== "", query, "query parameters are not permitted in the URL")
  ]
}

const path: Rule = (field, value) => {
  const text = asString(value) ?? ""
  if (text === "" || text === "/") return []
  const segments = text.slice(1).replace(/\/$/u, "").split("/")
  const problems = segments.map((segment, index) => {
    if (segment === "") return `segment[${index}] may not be empty`
    const problem = nameProblem("subdomain", segment)
    return problem === undefined ? undefined : `segment[${index}]: ${problem}`
  })
  return [text.startsWith("/") ? undefined : "must start with a '/'", ...problems].flatMap((problem) =>
    problem === undefined ? [] : [invalidValue(field, text, problem)]
  )
}

const port: Rule = (field, value, owner) =>
  [...portNumber(field, value, owner)].map(() =>
    invalidValue(field, value, "port is not valid: must be between 1 and 65535, inclusive")
  )

/** A real server exchanges the two fields in its refusal. */
const named =
  (other: string): Rule =>
  (field, value) =>
    isBlank(value) ? [required(field.replace(/[a-z]+$/u, other))] : []

const service: ReadonlyArray<FieldRules> = [
  ["namespace", named("name")],
  ["name", named("namespace")],
  ["port", port],
  ["path", path]
]

const client: Rule = (field, value) => {
  const config = isObject(value) ? value : {}
  if ((config["url"] === undefined) === (config["service"] === undefined))
    return [required(field, "exactly one of url or service is required")]
  return config["url"] === undefined
    ? each(service)(`${field}.service`, config["service"], config)
    : url(`${field}.url`, config["url"], config)
}

const operations = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"]

const rule: ReadonlyArray<FieldRules> = [
  ["operations", isRequired],
  ["operations[]", isAmong(...operations)],
  ["apiGroups", isRequired],
  ["apiVersions", isRequired],
  ["resources", isRequired],
  ["scope", isAmong("*", "Cluster", "Namespaced")]
]

const webhook: ReadonlyArray<FieldRules> = [
  ["name", domain],
  ["rules[]", each(rule)],
  ["failurePolicy", isAmong("Fail", "Ignore")],
  ["matchPolicy", isAmong("Equivalent", "Exact")],
  ["sideEffects", sideEffects],
  ["timeoutSeconds", timeout],
  ["namespaceSelector", labelSelector],
  ["objectSelector", labelSelector],
  ["reinvocationPolicy", isAmong("IfNeeded", "Never")],
  ["clientConfig", client],
  ["admissionReviewVersions", reviewVersions]
]

/** The rules of `webhooks`. */
export const mutatingWebhooks: ReadonlyArray<FieldRules> = [
  ["webhooks[]", each(webhook)],
  ["webhooks", unique("name")]
]
