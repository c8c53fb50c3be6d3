/**
 * N21 (failures.md §3.22). Watches and caches outlive the credentials with which they began: with the next token no
 * operator lists the member's sessions again.
 */

import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { isOfKind } from "../story/call-kind.ts"
import type { Invariant } from "./invariant.ts"
import { LastTrouble } from "./last-trouble.ts"

/** How soon after a new token a list would follow from it, ms. */
const soon = 1_000

export const renewalIsQuiet: Invariant = {
  id: "N21",
  sentence: "A member that grants a token is not listed again.",
  begin: (world) => {
    /** When each member has last granted a token, and to which operator. */
    const grantedAt = new Map<string, number>()
    const trouble = new LastTrouble(world)
    return {
      on: (event) => {
        trouble.on(event)
        if (event._tag === "Answered" && isOfKind(event.call, "tokens") && event.outcome === "ok")
          grantedAt.set(event.call.to, event.at)
        if (event._tag !== "Called") return undefined
        const { operator, resource, to, verb } = event.call
        if (verb !== "list" || resource !== mirrordClusterSessions.plural || operator === to) return undefined
        const since = event.at - (grantedAt.get(to) ?? -Infinity)
        // A cluster that was lost, or an operator that has just started, lists for other reasons.
        const isCaused = since < soon && event.at - trouble.at > 120_000
        return isCaused
          ? `The operator of ${operator} lists ${resource} in ${to} ${since} ms after its token.`
          : undefined
      }
    }
  }
}
