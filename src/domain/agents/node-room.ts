/**
 * Decides whether a node has room for the pod of an agent, as the published `check_out_of_pods` does (agent.md §1.8).
 *
 * Not here: asking for node and pods (adapters/agents), and the scheduler, which decides where this check is not made.
 */

import type { Node } from "../resources/core-kinds.ts"

/** The fields that pods count by which take room on a node. Pods that wait for the node are not counted. */
export const podsOnNode = (node: string): Readonly<Record<string, string>> => ({
  "status.phase": "Running",
  "spec.nodeName": node
})

/** Why the node takes no further pod, a clause; undefined if it does, or does not say how many it takes. */
export const whyNoRoom = ({ metadata, status }: Node, running: number): string | undefined => {
  const allocatable = status?.allocatable?.pods ?? ""
  return /^\d{1,9}$/u.test(allocatable) && running >= Number(allocatable)
    ? `node ${metadata.name} is full: ${running} pods run there, and it takes ${allocatable}`
    : undefined
}
