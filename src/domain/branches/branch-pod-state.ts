/**
 * Reads from a branch's pod how far the branch is, and why it will never be there. The words of the engine's tools come
 * by the termination message of a container, so that the operator needs no right to read logs.
 *
 * Not here: what keeps a pod from running (domain/pod-problem.ts), and what follows from it (branch-plan.ts).
 */

import { asObjects, at, type JsonObject } from "../json.ts"
import { hasEnded, podProblems, whyNoNode } from "../pod-problem.ts"

/** How far a branch's pod is. `reason` completes "The branch's pod failed: …". */
export type BranchPodState =
  | { readonly _tag: "Absent" }
  /** `noNode`: why no node takes it, as the scheduler says: a node may come, and a volume for it, or never. */
  | { readonly _tag: "Starting"; readonly noNode?: string }
  /** The copy is complete and the server takes connections. */
  | { readonly _tag: "Ready" }
  /** `isPull`: an image cannot be pulled, which the node tries again. */
  | { readonly _tag: "Over"; readonly reason: string; readonly isPull?: true }

/** The containers of branches and of their migrations. */
const ours = ["copy", "database", "migrations"]

/** The state of a pod as the API server has it; `undefined` if there is none. */
export const branchPodState = (pod: JsonObject | undefined): BranchPodState => {
  if (pod === undefined) return { _tag: "Absent" }
  if (at(pod, "metadata", "deletionTimestamp") !== undefined) return { _tag: "Over", reason: "it is being deleted" }
  // A container that a webhook has added may crash and recover.
  const problem = podProblems(pod, ours).find(({ isOurs, kind }) => isOurs || kind !== "Crash")
  if (problem !== undefined)
    return { _tag: "Over", reason: problem.reason, ...(problem.kind === "Pull" ? { isPull: true } : {}) }
  if (hasEnded(pod)) return { _tag: "Over", reason: "it ended without a reason" }
  const conditions = asObjects(at(pod, "status", "conditions"))
  if (conditions.some(({ status, type }) => type === "Ready" && status === "True")) return { _tag: "Ready" }
  const noNode = whyNoNode(pod)
  return { _tag: "Starting", ...(noNode === undefined ? {} : { noNode }) }
}
