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
      each: (event) => trouble.on(event),
      on: {
        Answered: ({ at, call, outcome }) => {
          if (isOfKind(call, "tokens") && outcome === "ok") grantedAt.set(call.to, at)
        },
        Called: ({ at, call: { operator, resource, to, verb } }) => {
          if (verb !== "list" || resource !== mirrordClusterSessions.plural || operator === to) return undefined
          const since = at - (grantedAt.get(to) ?? -Infinity)
          // A cluster that was lost, or an operator that has just started, lists for other reasons.
          return since < soon && at - trouble.at > 120_000
            ? `The operator of ${operator} lists ${resource} in ${to} ${since} ms after its token.`
            : undefined
        }
      }
    }
  }
}
