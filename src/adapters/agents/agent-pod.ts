/**
 * The state of an agent as the pod of its Job shows it: whether it can be dialled, never will be, or is still starting.
 *
 * Not here: which pod belongs to the Job, and how long to wait for it (pod-agents.ts); why there is no pod
 * (domain/agents/job-trouble.ts).
 */

import { maxOwnExitCode } from "../../domain/agents/ephemeral-agents.ts"
import { asNumber, asObjects, asString, at } from "../../domain/json.ts"
import { hasEnded, type PodProblem, podProblems, whyNoNode } from "../../domain/pod-problem.ts"
import type { KubeObject } from "../../ports/kube-api.ts"

/** The name of an agent's container. */
export const agentContainer = "mirrord-agent"

export type AgentPodState =
  | { readonly _tag: "Running"; readonly host: string }
  /** `detail`: why the agent will not run, without a full stop. */
  | { readonly _tag: "Failed"; readonly detail: string }
  /** `detail`: why it does not run yet, if that is known. */
  | { readonly _tag: "Waiting"; readonly detail: string | undefined }

/** Why a container of ours or beside it cannot start, a clause. */
const startProblem = ({ isOurs, kind, reason, waits, words }: PodProblem): string =>
  isOurs && kind === "Pull" ? `its image cannot be pulled: ${words === "" ? waits : words}` : reason

const endOf = ({ metadata }: KubeObject, problem: PodProblem | undefined, phase: string): string => {
  // Where the node never ran the pod, or has ended it, there is no log, or none that says why.
  if (problem?.kind === "Refused") return `its pod ended: ${problem.reason}`
  const logs = `\`kubectl -n ${metadata.namespace} logs ${metadata.name}\``
  return problem === undefined
    ? `its pod ended (${phase}); ${logs} says why`
    : `its pod ended: ${problem.reason}; ${logs} says more`
}

const ownContainer = (pod: KubeObject) =>
  asObjects(at(pod, "status", "containerStatuses")).find(({ name }) => name === agentContainer)

/** Whether the agent was ended by a signal, before it could do anything. */
export const wasKilled = (pod: KubeObject): boolean =>
  (asNumber(at(ownContainer(pod), "state", "terminated", "exitCode")) ?? 0) > maxOwnExitCode

/** The state of an agent's pod; a pod that is not there yet is waited for. */
export const agentPodState = (pod: KubeObject | undefined): AgentPodState => {
  if (pod === undefined) return { _tag: "Waiting", detail: undefined }
  const phase = asString(at(pod, "status", "phase")) ?? "Pending"
  const problems = podProblems(pod, [agentContainer])
  const [first] = problems
  if (hasEnded(pod) || (first?.isOurs === true && first.kind === "End"))
    return { _tag: "Failed", detail: endOf(pod, first, phase) }
  const container = ownContainer(pod)
  const host = asString(at(pod, "status", "podIP"))
  if (phase === "Running" && at(container, "ready") === true && host !== undefined) return { _tag: "Running", host }
  // A container that a webhook has added may crash and recover.
  const lasting = problems.find(
    ({ isOurs, kind }) => kind === "Pull" || kind === "Start" || (isOurs && kind === "Crash")
  )
  if (lasting !== undefined) return { _tag: "Failed", detail: startProblem(lasting) }
  return { _tag: "Waiting", detail: first?.reason ?? whyNoNode(pod) }
}
