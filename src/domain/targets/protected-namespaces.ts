/**
 * Namespaces whose workloads are no targets unless an administrator allows it: an agent beside the operator's pod reads
 * the operator's credentials, and one beside a system pod those of the cluster.
 *
 * Not here: when a session is refused for it (app/sessions).
 */

import type { SessionFailure } from "../resources/session-failure.ts"

/** Why a namespace is protected, by its name; a namespace without an entry is not. */
export type ProtectedNamespaces = ReadonlyMap<string, string>

/** The namespaces of an installation, and those that its administrator allows all the same. */
export interface NamespaceRules {
  readonly operator: string
  readonly agents: string
  readonly allowed: ReadonlyArray<string>
}

export const protectedNamespaces = ({ agents, allowed, operator }: NamespaceRules): ProtectedNamespaces => {
  const all = new Map([
    ["kube-system", "the cluster's own programs run there"],
    [agents, "the agents run there"],
    [operator, "the operator runs there"]
  ])
  for (const namespace of allowed) all.delete(namespace)
  return all
}

/** Why a target in a namespace is refused, if it is. A session without a target reads nothing of a namespace's pods. */
export const protectedTarget = (
  namespaces: ProtectedNamespaces,
  namespace: string,
  isTargetless: boolean
): SessionFailure | undefined => {
  const why = isTargetless ? undefined : namespaces.get(namespace)
  if (why === undefined) return undefined
  const message =
    `targets in namespace ${namespace} are refused, since ${why}; name a workload of another namespace, or have ` +
    `${namespace} added to the chart's value targets.allowedNamespaces in that cluster`
  return { reason: "NotAllowed", message }
}
