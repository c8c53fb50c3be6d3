/**
 * Names, labels, annotations, finalizers and owners: a real server's rules for the metadata of any kind
 * (k8s.io/apimachinery `api/validation`, `util/validation`).
 */

import { asObject } from "../../../src/domain/json.ts"
import type { ObjectMeta } from "../schema/kube-object.ts"
import type { ResourceInfo } from "../schema/resource-info.ts"
import { type FieldError, invalid, invalidValue, required, tooLong } from "../wire/status-error.ts"

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
const labelRule = new RegExp(`^${label}$`)
const subdomainRule = new RegExp(`^${label}(\\.${label})*$`)

/** The problem of an object's name, or of a field that holds such a name. */
export const nameProblem = (rule: ResourceInfo["nameRule"], name: string): string | undefined => {
  switch (rule) {
    case "label":
      if (name.length > 63) return "must be no more than 63 characters"
      return labelRule.test(name)
        ? undefined
        : "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start " +
            "and end with an " +
            ("alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is " +
              "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')")
    case "subdomain":
      if (name.length > 253) return "must be no more than 253 characters"
      return subdomainRule.test(name)
        ? undefined
        : "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must " +
            "start and end " +
            "with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
            "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    case "path":
      return name === "." || name === ".." || /[/%]/.test(name)
        ? "may not contain '/' or '%', or be '.' or '..'"
        : undefined
  }
}

const qualifiedPart = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/
const qualifiedPartRule =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an " +
  "alphanumeric character " +
  ("(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is " +
    "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')")

/** The problems of a key such as `example.com/name` (k8s.io/apimachinery `util/validation` IsQualifiedName). */
const qualifiedNameProblems = (key: string): ReadonlyArray<string> => {
  const parts = key.split("/")
  const [prefix, name = ""] = parts.length > 1 ? [parts.slice(0, -1).join("/"), parts.at(-1)] : [undefined, key]
  const prefixProblem = prefix === "" ? "must be non-empty" : prefix && nameProblem("subdomain", prefix)
  return [
    ...(prefixProblem === undefined ? [] : [`prefix part ${prefixProblem}`]),
    ...(name === "" ? ["name part must be non-empty"] : []),
    ...(name.length > 63 ? ["name part must be no more than 63 characters"] : []),
    ...(qualifiedPart.test(name) ? [] : [qualifiedPartRule])
  ]
}

/** Refusals of qualified names: keys of labels and finalizers. */
const badKeys = (field: string, keys: ReadonlyArray<string>): ReadonlyArray<FieldError> =>
  keys.flatMap((key) => qualifiedNameProblems(key).map((problem) => invalidValue(field, key, problem)))

/** Finalizers of Kubernetes itself, which need no domain. */
const standardFinalizers = ["orphan", "foregroundDeletion", "kubernetes"]

const finalizerProblems = (info: ResourceInfo, finalizers: ReadonlyArray<string>): ReadonlyArray<FieldError> => [
  ...badKeys("metadata.finalizers", finalizers),
  ...finalizers.flatMap((finalizer, index) =>
    info.custom !== undefined || finalizer.includes("/") || standardFinalizers.includes(finalizer)
      ? []
      : [
          invalidValue(
            `metadata.finalizers[${index}]`,
            finalizer,
            "name is neither a standard finalizer name nor is it fully qualified"
          )
        ]
  )
]

const ownerProblems = (owners: NonNullable<ObjectMeta["ownerReferences"]>): ReadonlyArray<FieldError> =>
  owners.flatMap((owner) =>
    (["apiVersion", "kind", "name", "uid"] as const).flatMap((field) =>
      owner[field] === "" ? [invalidValue(`metadata.ownerReferences.${field}`, "", "must not be empty")] : []
    )
  )

const labelValuePattern = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/

/** Refusals of labels, or of a map that selects by labels. */
export const labelErrors = (field: string, labels: unknown): ReadonlyArray<FieldError> => [
  ...badKeys(field, Object.keys(asObject(labels))),
  ...Object.values(asObject(labels)).flatMap((value) =>
    typeof value === "string" && value.length <= 63 && labelValuePattern.test(value)
      ? []
      : [
          invalidValue(
            field,
            value,
            "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and " +
              "must start and end with " +
              "an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
              "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
          )
        ]
  )
]

/** Limit for all annotations of an object together, in bytes. */
const annotationsLimit = 256 * 1024

/** Refusals of annotations. Capitals are allowed in their keys, so the keys are checked in lower case. */
export const annotationErrors = (field: string, annotations: unknown): ReadonlyArray<FieldError> => {
  const entries = Object.entries(asObject(annotations))
  const size = entries.reduce((sum, [key, value]) => sum + Buffer.byteLength(key) + Buffer.byteLength(String(value)), 0)
  return [
    ...entries.flatMap(([key]) =>
      qualifiedNameProblems(key.toLowerCase()).map((problem) => invalidValue(field, key, problem))
    ),
    ...(size > annotationsLimit ? [tooLong(field, annotationsLimit)] : [])
  ]
}

/** Checks name, labels and annotations; throws 422. */
export const checkMetadata = (info: ResourceInfo, meta: ObjectMeta): void => {
  const errors: Array<FieldError> = []
  const name = meta.name ?? ""
  if (name === "") errors.push(required("metadata.name", "name or generateName is required"))
  else {
    const problem = nameProblem(info.nameRule, name)
    if (problem !== undefined) errors.push(invalidValue("metadata.name", name, problem))
  }
  errors.push(
    ...labelErrors("metadata.labels", meta.labels),
    ...annotationErrors("metadata.annotations", meta.annotations)
  )
  errors.push(...finalizerProblems(info, meta.finalizers ?? []), ...ownerProblems(meta.ownerReferences ?? []))
  if (errors.length > 0) throw invalid(info, name, errors)
}
