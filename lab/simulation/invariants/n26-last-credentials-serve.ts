/**
 * N26 (failures.md §3.27). A cluster is not given up because its maker makes no other credentials: the last ones are
 * used until their end, by each process that has got them.
 */

import type { Invariant } from "./invariant.ts"
import { isParent, recordedChildren } from "./session-objects.ts"

/** A primary says this of a cluster for which it has no credentials. */
const isWithout = /^(?:no token can be made for it|its plugin gives no credentials)/u

export const lastCredentialsServe: Invariant = {
  id: "N26",
  sentence: "No member is lost for want of other credentials while the last ones are good.",
  begin: (world) => {
    /** When the primary's processes, or its connections to the clusters, were last made again. */
    let startedAt = -Infinity
    return {
      on: {
        Operator: ({ at, cluster }) => {
          if (cluster === world().plan.primary) startedAt = at
        },
        // A cluster at another address is engaged again.
        Step: ({ at, text }) => {
          if (text.startsWith("configure ")) startedAt = at
        },
        Committed: ({ commit }) => {
          if (!isParent(commit)) return undefined
          const { after, before } = commit
          const known = new Map(before === undefined ? [] : recordedChildren(before))
          const lost = (after === undefined ? [] : recordedChildren(after)).find(
            ([cluster, { error }]) =>
              isWithout.test(error ?? "") &&
              // A parent may still say what it has said before.
              known.get(cluster)?.error !== error &&
              world().clusters.get(cluster)?.tokens.servesSince(startedAt) === true
          )
          return lost === undefined
            ? undefined
            : `${lost[0]} is lost although its last credentials are good: ${lost[1].error}.`
        }
      }
    }
  }
}
