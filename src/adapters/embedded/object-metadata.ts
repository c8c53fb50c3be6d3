import { asObject } from "./json.ts"
import type { ObjectMeta } from "./kube-object.ts"
import type { ResourceInfo } from "./resource-info.ts"
import { type FieldError, invalid, invalidValue, required } from "./status-error.ts"

// Vowels and look-alikes are left out, as in k8s.io/apimachinery `util/rand`.
const suffixAlphabet = "bcdfghjklmnpqrstvwxz2456789"
const maxGeneratedBase = 58

const pick = (alphabet: string, random: () => number): string => alphabet.charAt(Math.floor(random() * alphabet.length))

export const generatedName = (base: string, random: () => number): string =>
  base.slice(0, maxGeneratedBase) + Array.from({ length: 5 }, () => pick(suffixAlphabet, random)).join("")

/** A version 4 UUID from a source of uniform numbers. */
export const randomUid = (random: () => number): string => {
  const hex = Array.from({ length: 32 }, () => pick("0123456789abcdef", random))
  hex[12] = "4"
  hex[16] = pick("89ab", random)
  const text = hex.join("")
  return [text.slice(0, 8), text.slice(8, 12), text.slice(12, 16), text.slice(16, 20), text.slice(20)].join("-")
}

const label = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
const labelRule = new RegExp(`^${label}$`)
const subdomainRule = new RegExp(`^${label}(\\.${label})*$`)

const nameProblem = (rule: ResourceInfo["nameRule"], name: string): string | undefined => {
  switch (rule) {
    case "label":
      if (name.length > 63) return "must be no more than 63 bytes"
      return labelRule.test(name)
        ? undefined
        : "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an " +
            "alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
    case "subdomain":
      if (name.length > 253) return "must be no more than 253 bytes"
      return subdomainRule.test(name)
        ? undefined
        : "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end " +
            "with an alphanumeric character (e.g. 'example.com', regex used for validation is " +
            "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    case "path":
      return name === "." || name === ".." || /[/%]/.test(name) ? "may not contain '/' or '%', or be '.' or '..'" : undefined
  }
}

const labelValue = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/

/** Checks name, labels and annotations; throws 422. */
export const checkMetadata = (info: ResourceInfo, meta: ObjectMeta): void => {
  const errors: Array<FieldError> = []
  const name = meta.name ?? ""
  if (name === "") errors.push(required("metadata.name", "name or generateName is required"))
  else {
    const problem = nameProblem(info.nameRule, name)
    if (problem !== undefined) errors.push(invalidValue("metadata.name", name, problem))
  }
  for (const value of Object.values(asObject(meta.labels))) {
    if (typeof value !== "string" || value.length > 63 || !labelValue.test(value)) {
      errors.push(
        invalidValue(
          "metadata.labels",
          value,
          "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with " +
            "an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is " +
            "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
        )
      )
    }
  }
  for (const value of Object.values(asObject(meta.annotations))) {
    if (typeof value !== "string") errors.push(invalidValue("metadata.annotations", value, "must be a string"))
  }
  if (errors.length > 0) throw invalid(info, name, errors)
}
