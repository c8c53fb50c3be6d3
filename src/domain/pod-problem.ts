/**
 * Why a pod of ours does not start or has ended, as its kubelet and its scheduler report it: one place for agents,
 * copies and branches of databases.
 *
 * Not here: why there is no pod at all (agent/job-trouble.ts), and what follows.
 */

import { quotation, quoted } from "./clean-text.ts"
import { asNumber, asObjects, asString, at, isObject, type JsonObject } from "./json.ts"

/** A reason that keeps a pod from running. */
export interface PodProblem {
  /** A clause in the kubelet's words, such as `container "app" cannot start (ErrImagePull): no such tag`. */
  readonly reason: string
  /** The kubelet's words alone; may be empty. */
  readonly words: string
  /** Whether it is about the pod as a whole, or a container without which it is of no use to us. */
  readonly isOurs: boolean
  /**
   * `Pull`: an image that the node tries to pull again. `Crash`: a container that runs and ends again and again.
   * `Start`: one that never runs unless the cluster changes. `End`: it has ended; `Refused`: the node ended the pod, or
   * never ran it.
   */
  readonly kind: "Pull" | "Crash" | "Start" | "End" | "Refused"
  /** The reason for which the container waits, if it does. */
  readonly waits?: string
}

/** A container waits for these in the usual course of things. Every other reason is a problem, also a newer one. */
const usual: ReadonlySet<string> = new Set(["", "ContainerCreating", "PodInitializing"])
/** The node tries these again, and another node or a later minute may have the image. */
const pulls: ReadonlySet<string> = new Set(["ErrImagePull", "ImagePullBackOff", "RegistryUnavailable"])

/** Longest end of a tool's words that is read, in UTF-16 code units, and the most lines of it. */
const maxText = 2_000
const maxLines = 3
/** A password may hold any sign, so all of a URL behind its scheme is taken for one. */
const credentials = /:\/\/\S{1,2000}/gu

/** So a tool begins to say why it failed. Flyway has its advice behind that, of more lines than are read otherwise. */
const reasonMark = "ERROR: "

/** The last lines of a tool, or its reason with all behind that, without the rest of any URL in them. */
const failureText = (message: string): string => {
  const lines = message.slice(-maxText).split("\n")
  const worded = lines.filter((line) => line.trim() !== "")
  const reasonAt = worded.findLastIndex((line) => line.startsWith(reasonMark))
  const told = worded.slice(reasonAt === -1 ? -maxLines : reasonAt)
  return quotation(told.join(" ").replaceAll(credentials, "://…"))
}

const withText = (clause: string, words: string): string => (words === "" ? clause : `${clause}: ${words}`)

const nameOf = (status: JsonObject): string => asString(status["name"]) ?? ""

/** How a run of a container ended, such as `OOMKilled, exit code 137`. */
const howEnded = (ended: JsonObject): string => {
  const reason = asString(ended["reason"])
  const kind = reason === undefined || reason === "Error" || reason === "Completed" ? "" : `${quotation(reason)}, `
  return `${kind}exit code ${asNumber(ended["exitCode"]) ?? "unknown"}`
}

/** Why a container has ended; `mustStay`: its end is a failure even with 0. */
const endOf = (status: JsonObject, isOurs: boolean, mustStay: boolean): PodProblem | undefined => {
  const ended = at(status, "state", "terminated")
  if (!isObject(ended) || (asNumber(ended["exitCode"]) === 0 && !mustStay)) return undefined
  const words = failureText(asString(ended["message"]) ?? "")
  const clause = `container ${quoted(nameOf(status))} ended (${howEnded(ended)})`
  return { reason: withText(clause, words), words, isOurs, kind: "End" }
}

/** Why a container does not start, by its status; `undefined` if it does, or that is not known. */
export const waitOf = (status: JsonObject, isOurs: boolean): PodProblem | undefined => {
  const waits = asString(at(status, "state", "waiting", "reason")) ?? ""
  if (usual.has(waits)) return undefined
  const isCrash = waits === "CrashLoopBackOff"
  const last = at(status, "lastState", "terminated")
  const message = failureText(asString(at(status, "state", "waiting", "message")) ?? "")
  // The kubelet's words about a crash are how long it waits.
  const startKind = pulls.has(waits) ? "Pull" : "Start"
  const words = isCrash && isObject(last) ? `its last run ended (${howEnded(last)})` : message
  return {
    reason: withText(`container ${quoted(nameOf(status))} cannot start (${quotation(waits)})`, words),
    words,
    isOurs,
    kind: isCrash ? "Crash" : startKind,
    waits
  }
}

/** Words of the kubelet about a pod as a whole, such as `Evicted: The node was low on resource: memory`. */
const podWords = (pod: unknown): string => {
  const why = [asString(at(pod, "status", "reason")), asString(at(pod, "status", "message"))]
  return quotation(why.filter((word) => word !== undefined && word !== "").join(": "))
}

/** Whether nothing of a pod runs any more. */
export const hasEnded = (pod: unknown): boolean => {
  const phase = asString(at(pod, "status", "phase"))
  return phase === "Failed" || phase === "Succeeded"
}

/** Why a node refused or ended a pod: then the ends of its containers say nothing. */
const refusalOf = (pod: unknown): ReadonlyArray<PodProblem> => {
  const words = hasEnded(pod) ? podWords(pod) : ""
  return words === "" ? [] : [{ reason: words, words, isOurs: true, kind: "Refused" }]
}

/**
 * The problems of a pod, those of our containers first: webhooks add containers, and nodes list all by their names.
 * `ours`: the containers for which the pod was made; those that are no init containers must not end.
 */
export const podProblems = (pod: unknown, ours: ReadonlyArray<string>): ReadonlyArray<PodProblem> => {
  const isOver = hasEnded(pod)
  const of = (field: string, isInit: boolean): ReadonlyArray<PodProblem> =>
    asObjects(at(pod, "status", field)).flatMap((status) => {
      const isOurs = ours.includes(nameOf(status))
      // Another container may end as it likes, unless the pod ends with it.
      const end = isInit || isOurs || isOver ? endOf(status, isOurs, isOurs && !isInit) : undefined
      return end ?? waitOf(status, isOurs) ?? []
    })
  const found = [...of("initContainerStatuses", true), ...of("containerStatuses", false)]
  return [...refusalOf(pod), ...found.filter(({ isOurs }) => isOurs), ...found.filter(({ isOurs }) => !isOurs)]
}

/** Why no node takes a pod, as the scheduler says. */
export const whyNoNode = (pod: unknown): string | undefined => {
  const conditions = asObjects(at(pod, "status", "conditions"))
  const message = asString(
    conditions.find(({ status, type }) => type === "PodScheduled" && status === "False")?.["message"]
  )
  return message === undefined ? undefined : quotation(message)
}
