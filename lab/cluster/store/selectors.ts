/**
 * Label and field selectors in the text form of a query (`a=b,c in (d,e),!f`), with a real server's refusals. The
 * selectors inside of objects (`matchLabels`) are checked in `checks/field-checks.ts`.
 */

import { asObject, asString, at } from "../../../src/domain/json.ts"
import { selects } from "../checks/field-checks.ts"
import type { KubeObject } from "../schema/kube-object.ts"
import { badRequest } from "../wire/status-error.ts"

/** One requirement of a label selector, as in `metav1.LabelSelectorRequirement`. */
interface Requirement {
  readonly key: string
  readonly operator: "in" | "notin" | "exists" | "!"
  readonly values: ReadonlyArray<string>
}

export type ObjectPredicate = (object: KubeObject) => boolean

const keyPattern = /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/

/** Splits at commas that are not inside parentheses. */
const splitTopLevel = (text: string): ReadonlyArray<string> => {
  const parts: Array<string> = []
  let depth = 0
  let current = ""
  for (const char of text) {
    if (char === "(") depth++
    if (char === ")") depth--
    if (char === "," && depth === 0) {
      parts.push(current)
      current = ""
    } else current += char
  }
  parts.push(current)
  return parts
}

const parseRequirement = (text: string): Requirement => {
  const fail = () =>
    badRequest(`unable to parse requirement: ${JSON.stringify(text)} is not a label selector requirement`)
  const checked = (requirement: Requirement): Requirement => {
    if (!keyPattern.test(requirement.key)) throw fail()
    return requirement
  }
  const set = /^\s*(\S+)\s+(in|notin)\s*\(([^()]*)\)\s*$/.exec(text)
  if (set !== null) {
    const [, key = "", operator, list = ""] = set
    return checked({
      key,
      operator: operator === "in" ? "in" : "notin",
      values: list.split(",").map((value) => value.trim())
    })
  }
  const equality = /^\s*([^\s=!]+)\s*(==|=|!=)\s*([^\s=!()]*)\s*$/.exec(text)
  if (equality !== null) {
    const [, key = "", operator, value = ""] = equality
    return checked({ key, operator: operator === "!=" ? "notin" : "in", values: [value] })
  }
  const presence = /^\s*(!?)\s*([^\s=!()]+)\s*$/.exec(text)
  if (presence === null) throw fail()
  const [, not, key = ""] = presence
  return checked({ key, operator: not === "!" ? "!" : "exists", values: [] })
}

const meets = (labels: Record<string, unknown>, { key, operator, values }: Requirement): boolean => {
  const value = labels[key]
  switch (operator) {
    case "in":
      return typeof value === "string" && values.includes(value)
    case "notin":
      return typeof value !== "string" || !values.includes(value)
    case "exists":
      return value !== undefined
    case "!":
      return value === undefined
  }
}

/** Throws 400 on bad syntax. */
export const parseLabelSelector = (text: string | undefined): ((labels: Record<string, unknown>) => boolean) => {
  if (text === undefined || text.trim() === "") return () => true
  const requirements = splitTopLevel(text).map(parseRequirement)
  return (labels) => requirements.every((requirement) => meets(labels, requirement))
}

const common = ["metadata.name", "metadata.namespace"]

/** Further selectable fields by `group/resource`. A real server has more; no client here needs them. */
const selectableFields: Readonly<Record<string, ReadonlyArray<string>>> = {
  "/pods": ["spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName", "status.phase", "status.podIP"],
  "/secrets": ["type"],
  "/namespaces": ["status.phase"],
  "/events": [
    "involvedObject.kind",
    "involvedObject.name",
    "involvedObject.namespace",
    "involvedObject.uid",
    "reason",
    "reportingComponent",
    "type"
  ]
}

/** A real server's refusals differ by kind; custom resources get the words of the old core kinds. */
const notSelectable = (field: string, key: string): string => {
  if (key === "batch/jobs") return `field label ${JSON.stringify(field)} not supported for Job`
  return key === "/configmaps" || key.startsWith("apps/")
    ? `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`
    : `field label not supported: ${field}`
}

/** `key` is `group/resource`. Throws 400 for a field by which that collection cannot be selected. */
const parseFieldSelector = (text: string | undefined, key: string): ObjectPredicate => {
  if (text === undefined || text.trim() === "") return () => true
  const terms = text.split(",").map((term) => {
    const match = /^\s*([^\s=!]+)\s*(==|=|!=)\s*(.*?)\s*$/.exec(term)
    if (match === null)
      throw badRequest(`invalid selector: ${JSON.stringify(text)}; can't understand ${JSON.stringify(term)}`)
    const [, field = "", operator, value = ""] = match
    if (![...common, ...(selectableFields[key] ?? [])].includes(field)) throw badRequest(notSelectable(field, key))
    const path = field.split(".")
    return (object: KubeObject) => ((asString(at(object, ...path)) ?? "") === value) === (operator !== "!=")
  })
  return (object) => terms.every((term) => term(object))
}

/** The predicate of a list or watch request on a collection (`group/resource`). */
export const objectPredicate = (
  key: string,
  options: {
    readonly namespace?: string | undefined
    readonly labelSelector?: string | undefined
    readonly fieldSelector?: string | undefined
  }
): ObjectPredicate => {
  const labels = parseLabelSelector(options.labelSelector)
  const fields = parseFieldSelector(options.fieldSelector, key)
  const { namespace } = options
  return (object) =>
    (namespace === undefined || object.metadata.namespace === namespace) &&
    labels(asObject(object.metadata.labels)) &&
    fields(object)
}

/** Whether a selector inside of another object (`matchLabels`, `matchExpressions`) selects the object. */
export const selectsObject = (selector: unknown, object: KubeObject): boolean =>
  selects(selector, object.metadata.labels)
