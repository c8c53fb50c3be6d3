/**
 * Reads from a target's pod whether the agent beside it still has something to work on.
 *
 * Not here: whether an agent may be started in a pod (pod-choice.ts). A pod that is not ready any more keeps its agent.
 */

import type { Pod } from "../resources/core-kinds.ts"
import { isBeingDeleted } from "../resources/object-meta.ts"
import type { AgentPlacement } from "../targets/pod-choice.ts"
import type { AgentPodState } from "./agent-health.ts"

/** Phases after which no container of a pod runs. A pod of phase Unknown counts as over: its node is lost. */
const overPhases: ReadonlySet<string> = new Set(["Failed", "Succeeded", "Unknown"])

/**
 * The state of the pod for the agent that was started at a placement. `pod`: the object that now has the pod's name, if
 * there is any. An agent ends with its container: one that was started again needs another agent (agent.md §3.7).
 */
export const agentPodState = ({ containerId, podUid }: AgentPlacement, pod: Pod | undefined): AgentPodState => {
  if (pod === undefined || (podUid !== undefined && pod.metadata.uid !== podUid)) return "Gone"
  if (overPhases.has(pod.status?.phase ?? "")) return "Gone"
  const ids = (pod.status?.containerStatuses ?? []).flatMap(({ containerID }) => containerID ?? [])
  if (ids.length > 0 && !ids.some((id) => id.endsWith(`://${containerId}`))) return "Gone"
  return isBeingDeleted(pod.metadata) ? "Leaving" : "There"
}
