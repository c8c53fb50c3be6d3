/**
 * The state of an agent as the pod of its Job tells it: whether it can be dialled, never will be, or is still starting.
 *
 * Not here: which pod belongs to the Job, and how long to wait for it (pod-agents.ts).
 */

import { asObjects, asString, at, type JsonObject } from "../../domain/json.ts"
import type { KubeObject } from "../../ports/kube-api.ts"

/** Reasons of a waiting container that no waiting cures. */
const pullFailures: ReadonlySet<string> = new Set(["ErrImagePull", "ImagePullBackOff", "InvalidImageName"])

export type AgentPodState =
  | { readonly _tag: "Running"; readonly host: string }
  /** `detail`: why the agent will not run, without a full stop. */
  | { readonly _tag: "Failed"; readonly detail: string }
  /** `detail`: why no node takes the pod, if that is known. */
  | { readonly _tag: "Waiting"; readonly detail: string | undefined }

/** Whether nothing of the agent's pod runs any more. */
export const hasEnded = (pod: KubeObject): boolean => {
  const phase = asString(at(pod, "status", "phase"))
  return phase === "Failed" || phase === "Succeeded"
}

const unschedulable = (pod: KubeObject | undefined): string | undefined => {
  const conditions = asObjects(at(pod, "status", "conditions"))
  const scheduled = conditions.find(({ status, type }) => type === "PodScheduled" && status === "False")
  return asString(scheduled?.["message"])
}

/** Why the image of a waiting container cannot be pulled, by its status; undefined if it can or that is not known. */
export const pullFailure = (status: JsonObject | undefined): string | undefined => {
  const reason = asString(at(status, "state", "waiting", "reason"))
  if (reason === undefined || !pullFailures.has(reason)) return undefined
  return asString(at(status, "state", "waiting", "message")) ?? reason
}

/** The state of an agent's pod; a pod that is not there yet is waited for. */
export const agentPodState = (pod: KubeObject | undefined): AgentPodState => {
  const phase = asString(at(pod, "status", "phase"))
  if (phase === "Failed" || phase === "Succeeded") {
    return { _tag: "Failed", detail: `its pod ended (${phase}); \`kubectl logs\` of it says why` }
  }
  const [container] = asObjects(at(pod, "status", "containerStatuses"))
  const problem = pullFailure(container)
  if (problem !== undefined) return { _tag: "Failed", detail: `its image cannot be pulled: ${problem}` }
  const host = asString(at(pod, "status", "podIP"))
  return phase === "Running" && at(container, "ready") === true && host !== undefined
    ? { _tag: "Running", host }
    : { _tag: "Waiting", detail: unschedulable(pod) }
}
