/**
 * Which of the sessions in an operator's status are of its own cluster alone. The list of all sessions has those over
 * many clusters too, under other ids.
 */

import type { MirrordOperatorStatus } from "../../resources/mirrord-operator.ts"
import type { SessionInfo } from "../../resources/session.ts"

/** Name of the parent that a listed session would have (operator-api.md §4.3, §8.2). */
const parentOf = ({ id }: SessionInfo): string => `mc-${(id ?? "").toLowerCase().padStart(16, "0")}`

/** The listed sessions that are not over many clusters. */
export const sessionsHere = (status: MirrordOperatorStatus | null | undefined): ReadonlyArray<SessionInfo> => {
  const parents = new Set((status?.multi_cluster_sessions ?? []).map(({ id }) => id))
  return (status?.sessions ?? []).filter((session) => !parents.has(parentOf(session)) && !parents.has(session.id ?? ""))
}
