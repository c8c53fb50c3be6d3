/**
 * N20 (failures.md §3.21). A token is renewed before it ends. For a while after a fault, a member may still refuse what
 * the fault has left behind.
 */

import type { Invariant } from "./invariant.ts"

/** How long a fault may explain a refusal, ms: a failed renewal is tried again after 6 minutes at most. */
const explained = 360_000
/** Time between two looks at a world that may be faulty, ms. */
const lookEvery = 1_000

export const tokensInTime: Invariant = {
  id: "N20",
  sentence: "No member refuses a token while nothing has been wrong for minutes.",
  begin: (world) => {
    // The world is looked at again and again only after something that could be a fault.
    let isDoubtful = false
    let lookedAt = -Infinity
    let unwellAt = -Infinity
    /** Clusters that have refused an operator since a fault, and never known it again. */
    const explainedBy = new Set<string>()
    const doubt = (): void => {
      isDoubtful = true
    }
    return {
      on: {
        Step: doubt,
        Operator: doubt,
        Fault: ({ at }) => {
          doubt()
          unwellAt = at
        },
        Answered: ({ at, call: { operator, resource, to, verb }, outcome }) => {
          if (!world().cluster(to).tokens.isPlanned) return undefined
          if (isDoubtful && at - lookedAt >= lookEvery) {
            lookedAt = at
            isDoubtful = !world().isWell
            if (isDoubtful) unwellAt = at
          }
          if (outcome === "ok") explainedBy.delete(to)
          if (outcome !== "Unauthorized" || explainedBy.has(to)) return undefined
          if (at - unwellAt > explained)
            return `${to} does not know the operator of ${operator}, which asks to ${verb} ${resource}.`
          explainedBy.add(to)
        }
      }
    }
  }
}
