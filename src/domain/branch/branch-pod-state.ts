/**
 * Reads from a branch's pod how far the branch is, and why it will never be there. The words of the engine's tools come
 * by the termination message of a container, so that nobody needs the right to read logs.
 *
 * Not here: what follows from it (branch-plan.ts).
 */

import { quotation, quoted } from "../clean-text.ts"
import { asNumber, asObjects, asString, at, isObject, type JsonObject } from "../json.ts"

/** How far a branch's pod is. `reason` completes "The branch's pod failed: …". */
export type BranchPodState =
  | { readonly _tag: "Absent" }
  /** `noNode`: why no node takes it, as the scheduler says: a node may come, and a volume for it, or never. */
  | { readonly _tag: "Starting"; readonly noNode?: string }
  /** The copy is complete and the server takes connections. */
  | { readonly _tag: "Ready" }
  /** `isPull`: an image cannot be pulled, which the node tries again. */
  | { readonly _tag: "Over"; readonly reason: string; readonly isPull?: true }

/** Reasons for which a container waits and will wait for ever, unless somebody changes the cluster. */
const hopeless: ReadonlySet<string> = new Set([
  "CreateContainerConfigError",
  "CreateContainerError",
  "ErrImageNeverPull",
  "ErrImagePull",
  "ImagePullBackOff",
  "InvalidImageName",
  "RunContainerError"
])

const ofPulls: ReadonlySet<string> = new Set(["ErrImagePull", "ImagePullBackOff"])

/** Longest end of a tool's words that is read, in UTF-16 code units, and the most lines of it. */
const longestWords = 2_000
const mostLines = 3
/** A password may hold any sign, so all of a URL behind its scheme is taken for one. */
const credentials = /:\/\/\S{1,2000}/gu

/** So a tool begins to say why it failed. Flyway has its advice behind that, of more lines than are read otherwise. */
const reasonMark = "ERROR: "

/** The last lines of a tool, or its reason with all behind that, without the rest of any URL in them. */
const lastWords = (message: string): string => {
  const lines = message.slice(-longestWords).split("\n")
  const worded = lines.filter((line) => line.trim() !== "")
  const reasonAt = worded.findLastIndex((line) => line.startsWith(reasonMark))
  const told = worded.slice(reasonAt === -1 ? -mostLines : reasonAt)
  return quotation(told.join(" ").replaceAll(credentials, "://…"))
}

type Problem = Omit<Extract<BranchPodState, { readonly _tag: "Over" }>, "_tag">

/** Why a container ended; `mustStay`: its end is a failure even with 0. */
const endOf = (status: JsonObject, mustStay: boolean): Problem | undefined => {
  const ended = at(status, "state", "terminated")
  const exitCode = asNumber(at(ended, "exitCode"))
  if (!isObject(ended) || (exitCode === 0 && !mustStay)) return undefined
  const name = `container ${quoted(asString(status["name"]) ?? "")}`
  const reason = asString(ended["reason"])
  const kind = reason === undefined || reason === "Error" ? "" : `${quotation(reason)}, `
  const words = lastWords(asString(ended["message"]) ?? "")
  return { reason: `${name} ended (${kind}exit code ${exitCode ?? "unknown"})${words === "" ? "" : `: ${words}`}` }
}

const waitOf = (status: JsonObject): Problem | undefined => {
  const waiting = at(status, "state", "waiting")
  const reason = asString(at(waiting, "reason")) ?? ""
  if (!hopeless.has(reason)) return undefined
  const name = `container ${quoted(asString(status["name"]) ?? "")}`
  const words = lastWords(asString(at(waiting, "message")) ?? "")
  const told = `${name} cannot start (${reason})${words === "" ? "" : `: ${words}`}`
  return { reason: told, ...(ofPulls.has(reason) ? { isPull: true } : {}) }
}

/** The state of a pod as the API server has it; nothing: there is none. */
export const branchPodState = (pod: JsonObject | undefined): BranchPodState => {
  if (pod === undefined) return { _tag: "Absent" }
  if (at(pod, "metadata", "deletionTimestamp") !== undefined) return { _tag: "Over", reason: "it is being deleted" }
  const init = asObjects(at(pod, "status", "initContainerStatuses"))
  const servers = asObjects(at(pod, "status", "containerStatuses"))
  const problems = [
    ...init.flatMap((status) => endOf(status, false) ?? waitOf(status) ?? []),
    ...servers.flatMap((status) => endOf(status, true) ?? waitOf(status) ?? [])
  ]
  const phase = asString(at(pod, "status", "phase"))
  if (problems.length === 0 && (phase === "Failed" || phase === "Succeeded")) {
    const why = [asString(at(pod, "status", "reason")), asString(at(pod, "status", "message"))]
    const words = quotation(why.filter((word) => word !== undefined).join(": "))
    problems.push({ reason: words === "" ? "it ended without a reason" : words })
  }
  const [problem] = problems
  if (problem !== undefined) return { _tag: "Over", ...problem }
  const has = (type: string, status: string) =>
    asObjects(at(pod, "status", "conditions")).find((one) => one["type"] === type && one["status"] === status)
  if (has("Ready", "True") !== undefined) return { _tag: "Ready" }
  const noNode = asString(has("PodScheduled", "False")?.["message"])
  return { _tag: "Starting", ...(noNode === undefined ? {} : { noNode: quotation(noNode) }) }
}
