/**
 * Reads and writes the text forms of a target: the path of the user's configuration, and the name in a connect URL.
 *
 * Not here: whether such a target exists in a cluster.
 */

import * as Order from "effect/Order"
import * as Result from "effect/Result"
import { cleanText, quoted, textLimits } from "../clean-text.ts"
import { labelSelectorText } from "./pod-selector.ts"
import { targetKinds, type Target, type TargetKind } from "./target.ts"

/** A text that names no target. `message` says what was found and what would be right. */
export interface TargetPathError {
  readonly _tag: "TargetPathError"
  readonly found: string
  readonly message: string
}

const usage =
  `write <kind>/<name>, optionally with /container/<container>, where kind is one of ${targetKinds.join(", ")}; ` +
  "or label/<key>=<value>; or targetless"

const refuse = (found: string, problem: string): Result.Result<never, TargetPathError> => {
  const shown = cleanText(found, 120)
  return Result.fail({
    _tag: "TargetPathError",
    found: shown,
    message: `The target ${JSON.stringify(shown)} is not valid: ${problem}; ${usage}.`
  })
}

/** `deploy` is an alias of `deployment` everywhere; prefixes are exact and lower-case. */
const kindOf = (text: string): TargetKind | undefined =>
  text === "deploy" ? "deployment" : targetKinds.find((kind) => kind === text)

/** Whether this is an RFC 1123 subdomain, as names of workloads are. Keeps slashes and `..` out of request paths. */
export const isObjectName = (text: string): boolean =>
  text.length <= 253 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/u.test(text)

const isContainerName = (text: string): boolean => text.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/u.test(text)

const containerProblem = (container: string | undefined): string | undefined => {
  if (container === undefined || isContainerName(container)) return undefined
  return container === "" ? "the container's name is missing" : `${quoted(container)} cannot be a container's name`
}

const workload = (
  found: string,
  kindText: string,
  name: string,
  container: string | undefined
): Result.Result<Target, TargetPathError> => {
  const kind = kindOf(kindText)
  if (kind === undefined) return refuse(found, `there is no kind ${quoted(kindText)}`)
  if (name === "") return refuse(found, "the name is missing")
  if (!isObjectName(name)) return refuse(found, `${quoted(name)} cannot be the name of a Kubernetes object`)
  const problem = containerProblem(container)
  return problem === undefined ? Result.succeed({ _tag: "Workload", kind, name, container }) : refuse(found, problem)
}

const isLabelText = (text: string): boolean =>
  text.length <= 63 && /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/u.test(text)

/** Whether a cluster takes this as a label's key: a name, perhaps after a domain and a slash. */
const isLabelKey = (key: string): boolean => {
  const slash = key.indexOf("/")
  return slash === -1 ? isLabelText(key) : isObjectName(key.slice(0, slash)) && isLabelText(key.slice(slash + 1))
}

const labelProblem = (labels: ReadonlyArray<readonly [string, string]>): string | undefined => {
  for (const [key, value] of labels) {
    if (!isLabelKey(key)) return `${quoted(key)} cannot be the key of a label`
    if (value !== "" && !isLabelText(value)) return `${quoted(value)} cannot be the value of a label`
  }
  return undefined
}

/** A label target. Its labels are checked here, since a cluster would find other pods, or none, by wrong ones. */
const labelled = (
  found: string,
  labels: ReadonlyArray<readonly [string, string]>,
  container: string | undefined
): Result.Result<Target, TargetPathError> => {
  const target: Target = { _tag: "Label", labels: sortedByKey(labels), container }
  const problem =
    containerProblem(container) ??
    labelProblem(labels) ??
    (formatTargetPath(target).length > textLimits.targetName
      ? `its labels and its container are longer than ${textLimits.targetName} characters`
      : undefined)
  return problem === undefined ? Result.succeed(target) : refuse(found, problem)
}

const labelTarget = (found: string, text: string): Result.Result<Target, TargetPathError> => {
  const at = text.lastIndexOf("/container/")
  const selector = at === -1 ? text : text.slice(0, at)
  const container = at === -1 ? undefined : text.slice(at + "/container/".length)
  const labels: Array<readonly [string, string]> = []
  for (const term of selector.split(",")) {
    const equals = term.indexOf("=")
    if (equals < 1) return refuse(found, `${quoted(term)} is not <key>=<value>`)
    const key = term.slice(0, equals)
    if (labels.some(([other]) => other === key)) return refuse(found, `the key ${quoted(key)} is there twice`)
    labels.push([key, term.slice(equals + 1)])
  }
  return labelled(found, labels, container)
}

const sortedByKey = (labels: ReadonlyArray<readonly [string, string]>): Readonly<Record<string, string>> =>
  Object.fromEntries(labels.toSorted(Order.mapInput(Order.String, ([key]) => key)))

/**
 * Reads a target path as in the user's configuration: `deployment/foo`, `deploy/foo`, `pod/x/container/y`,
 * `label/a=b,c=d`, `targetless` (agent.md §1.1). Segments after the fourth are ignored, as the client does.
 */
export const parseTargetPath = (path: string): Result.Result<Target, TargetPathError> => {
  if (path === "targetless") return Result.succeed({ _tag: "Targetless" })
  if (path.startsWith("label/")) return labelTarget(path, path.slice("label/".length))
  const [kind = "", name = "", third, fourth] = path.split("/")
  if (third !== undefined && third !== "container") {
    return refuse(path, `only /container/<container> may follow the name, not ${quoted(`/${third}`)}`)
  }
  return workload(path, kind, name, third === undefined ? undefined : (fourth ?? ""))
}

/** The labels of parameter `label_target`, already validated as JSON (operator-api.md §7.9). */
export interface LabelTargetParameter {
  readonly labels: Readonly<Record<string, string>>
  readonly container?: string | null | undefined
}

/**
 * Reads a target as the connect URL names it: `deployment.foo`, `deploy.foo`, `pod.x.container.y`, `label`,
 * `targetless` (operator-api.md §6.1, §6.2). Names may hold dots, so the kind ends at the first dot and the container
 * begins after the last `.container.`.
 */
export const parseTargetName = (
  text: string,
  labelParameter?: LabelTargetParameter
): Result.Result<Target, TargetPathError> => {
  if (text === "targetless") return Result.succeed({ _tag: "Targetless" })
  if (text === "label") {
    const labels = Object.entries(labelParameter?.labels ?? {})
    if (labels.length === 0)
      return refuse(text, "a label target needs the connect parameter label_target with at least one label")
    return labelled(text, labels, labelParameter?.container ?? undefined)
  }
  const dot = text.indexOf(".")
  if (dot === -1) return refuse(text, "a connect URL names targets as <kind>.<name>")
  const rest = text.slice(dot + 1)
  const at = rest.lastIndexOf(".container.")
  if (at === -1) return workload(text, text.slice(0, dot), rest, undefined)
  return workload(text, text.slice(0, dot), rest.slice(0, at), rest.slice(at + ".container.".length))
}

/** The path form, in which the client shows targets. */
export const formatTargetPath = (target: Target): string => {
  if (target._tag === "Targetless") return "targetless"
  const container = target.container === undefined ? "" : `/container/${target.container}`
  return target._tag === "Label"
    ? `label/${labelSelectorText(target.labels)}${container}`
    : `${target.kind}/${target.name}${container}`
}

/** The form of the connect URL and of `spec.targetAlias`. It does not hold the labels of a label target. */
export const formatTargetName = (target: Target): string => {
  if (target._tag === "Targetless") return "targetless"
  if (target._tag === "Label") return "label"
  return `${target.kind}.${target.name}${target.container === undefined ? "" : `.container.${target.container}`}`
}
