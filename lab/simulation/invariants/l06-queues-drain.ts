/**
 * L6 (failures.md §2.6). A queue that does not drain repeats its work. So calls that create, delete or fail count as
 * work, and a world that has been well for long shows none. Health checks do not count: they fail for ever where an
 * operator is gone.
 */

import { events } from "../../../src/domain/events/event-object.ts"
import { branchDatabases } from "../../../src/domain/resources/branches/branch-database.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { mirrordOperators } from "../../../src/domain/resources/mirrord-operator.ts"
import { isOfKind } from "../story/call-kind.ts"
import { isAway } from "./debts.ts"
import type { Invariant } from "./invariant.ts"
import { isLeftOut, isParent, parentStatus } from "./session-objects.ts"

/** Length of the rest before the check, ms. */
const rest = 60_000

export const queuesDrain: Invariant = {
  id: "L6",
  sentence: "Once all is well, no operator is still trying.",
  begin: (world) => {
    /** Names of parents that failed. */
    const failed = new Set<string>()
    /** The last call of each kind of work, and when it was made. */
    const last = new Map<string, { readonly at: number; readonly to: string }>()
    return {
      on: (event) => {
        if (event._tag === "Committed") {
          const {
            commit: { after }
          } = event
          if (after !== undefined && isParent(event.commit) && parentStatus(after).phase === "Failed")
            failed.add(after.metadata.name)
          return undefined
        }
        if (event._tag !== "Answered") return undefined
        const { call, outcome } = event
        const { operator, resource, to, verb } = call
        if (resource === mirrordOperators.plural) return undefined
        // Tokens are renewed for ever.
        if (isOfKind(call, "tokens") && outcome === "ok") return undefined
        // A failed session is deleted after its retention, and an abandoned session after its TTL.
        if (
          verb === "delete" &&
          (failed.has(call.name) || (resource === mirrordMultiClusterSessions.plural && outcome === "ok"))
        )
          return undefined
        // A branch is deleted after its TTL, and a copy some time after its failure, perhaps in both clusters at once.
        const isGone = outcome === "ok" || outcome === "NotFound"
        if (verb === "delete" && resource === branchDatabases.plural && isGone) return undefined
        // A member ends a child that never served; a session that left it out tries again with a new child.
        if (
          resource === mirrordClusterSessions.plural &&
          (verb === "create" || verb === "delete") &&
          isLeftOut(world(), call.name)
        )
          return undefined
        // A watch whose version is too old starts again from a list, as it should. An Event only reports work that is
        // counted itself; N4 checks that none is written at rest. A missing object may stay missing and is looked for
        // now and then; the ledger is created when there is a debt to note.
        const isWork =
          verb === "create" || verb === "delete"
            ? resource !== "subjectaccessreviews" &&
              resource !== "configmaps" &&
              !(resource === events.plural && outcome === "ok")
            : outcome !== "ok" &&
              outcome !== "Gone" &&
              !((verb === "get" || verb === "patch") && outcome === "NotFound")
        if (isWork) last.set(`${operator}: ${verb} ${resource} in ${to}: ${outcome}`, { at: event.at, to })
        return undefined
      },
      atRest: () =>
        [...last].flatMap(([call, { at, to }]) => {
          const { now } = world()
          if (now - at >= rest || isAway(world(), to)) return []
          return [`The operator of ${call}, ${Math.round((now - at) / 1000)} s ago.`]
        })
    }
  }
}
