/**
 * Reads and writes the text forms of a target: the path of the user's configuration, and the name in a connect URL.
 *
 * Not here: whether such a target exists in a cluster.
 */

import * as Result from "effect/Result"
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
  const shown = found.length <= 120 ? found : `${found.slice(0, 117)}…`
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
const isObjectName = (text: string): boolean =>
  text.length <= 253 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/u.test(text)

const isContainerName = (text: string): boolean => text.length <= 63 && /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/u.test(text)

const workload = (
  found: string,
  kindText: string,
  name: string,
  container: string | undefined
): Result.Result<Target, TargetPathError> => {
  const kind = kindOf(kindText)
  if (kind === undefined) return refuse(found, `there is no kind ${JSON.stringify(kindText)}`)
  if (name === "") return refuse(found, "the name is missing")
  if (!isObjectName(name)) return refuse(found, `${JSON.stringify(name)} cannot be the name of a Kubernetes object`)
  if (container !== undefined && !isContainerName(container)) {
    return refuse(
      found,
      container === "" ? "the container's name is missing" : `${JSON.stringify(container)} cannot be a container's name`
    )
  }
  return Result.succeed({ _tag: "Workload", kind, name, container })
}

const labelTarget = (found: string, text: string): Result.Result<Target, TargetPathError> => {
  const at = text.lastIndexOf("/container/")
  const selector = at === -1 ? text : text.slice(0, at)
  const container = at === -1 ? undefined : text.slice(at + "/container/".length)
  if (container !== undefined && (container === "" || container.includes("/"))) {
    return refuse(found, "after /container/ there must be one name")
  }
  const labels: Array<readonly [string, string]> = []
  for (const term of selector.split(",")) {
    const equals = term.indexOf("=")
    if (equals < 1) return refuse(found, `${JSON.stringify(term)} is not <key>=<value>`)
    const key = term.slice(0, equals)
    if (labels.some(([other]) => other === key)) return refuse(found, `the key ${key} is there twice`)
    labels.push([key, term.slice(equals + 1)])
  }
  return Result.succeed({ _tag: "Label", labels: sortedByKey(labels), container })
}

const sortedByKey = (labels: ReadonlyArray<readonly [string, string]>): Readonly<Record<string, string>> =>
  Object.fromEntries([...labels].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)))

/**
 * Reads a target path as in the user's configuration: `deployment/foo`, `deploy/foo`, `pod/x/container/y`,
 * `label/a=b,c=d`, `targetless` (agent.md §1.1). Segments after the fourth are ignored, as the client does.
 */
export const parseTargetPath = (path: string): Result.Result<Target, TargetPathError> => {
  if (path === "targetless") return Result.succeed({ _tag: "Targetless" })
  if (path.startsWith("label/")) return labelTarget(path, path.slice("label/".length))
  const [kind = "", name = "", third, fourth] = path.split("/")
  if (third !== undefined && third !== "container") {
    return refuse(path, `only /container/<container> may follow the name, not /${third}`)
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
    return Result.succeed({
      _tag: "Label",
      labels: sortedByKey(labels),
      container: labelParameter?.container ?? undefined
    })
  }
  const dot = text.indexOf(".")
  if (dot === -1) return refuse(text, "a connect URL names targets as <kind>.<name>")
  const rest = text.slice(dot + 1)
  const at = rest.lastIndexOf(".container.")
  if (at === -1) return workload(text, text.slice(0, dot), rest, undefined)
  return workload(text, text.slice(0, dot), rest.slice(0, at), rest.slice(at + ".container.".length))
}

const labelText = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",")

/** The path form, in which the client shows targets. */
export const formatTargetPath = (target: Target): string => {
  if (target._tag === "Targetless") return "targetless"
  const container = target.container === undefined ? "" : `/container/${target.container}`
  return target._tag === "Label"
    ? `label/${labelText(target.labels)}${container}`
    : `${target.kind}/${target.name}${container}`
}

/** The form of the connect URL and of `spec.targetAlias`. It does not hold the labels of a label target. */
export const formatTargetName = (target: Target): string => {
  if (target._tag === "Targetless") return "targetless"
  if (target._tag === "Label") return "label"
  return `${target.kind}.${target.name}${target.container === undefined ? "" : `.container.${target.container}`}`
}
