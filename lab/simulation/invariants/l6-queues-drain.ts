import { events } from "../../../src/domain/events/event-object.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { mirrordOperators } from "../../../src/domain/resources/mirrord-operator.ts"
import { isAway } from "./debts.ts"
import type { Invariant } from "./invariant.ts"
import { isLeftOut, isParent, parentStatus } from "./session-objects.ts"

/** Ms of rest before the moment that is looked at. */
const rest = 60_000

/**
 * L6 (failures.md §2.6). A queue that does not drain tries something again and again: whatever is made, deleted or
 * fails in a world that has been well for long is such work. Asking clusters how they are is no work, and fails for
 * ever where an operator is gone.
 */
export const queuesDrain: Invariant = {
  id: "L6",
  sentence: "Once all is well, no operator is still trying.",
  begin: (world) => {
    /** Names of parents that failed. */
    const failed = new Set<string>()
    /** The last of each kind of call that is work, and when. */
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
        // A failed session goes at its own time, and so does one whose client was away for its TTL.
        if (
          verb === "delete" &&
          (failed.has(call.name) || (resource === mirrordMultiClusterSessions.plural && outcome === "ok"))
        )
          return undefined
        // A member ends a child that never served, and a session that goes without it tries again with the next one.
        if (
          resource === mirrordClusterSessions.plural &&
          (verb === "create" || verb === "delete") &&
          isLeftOut(world(), call.name)
        )
          return undefined
        // A watch whose version is too old starts again from a list: that is how it goes on. An Event tells of what
        // happened, which is counted itself; that none is told at rest is asked by N4. What is not there may stay away,
        // and is looked for now and then; a ledger is made when there is something to note.
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
        [...last].flatMap(([what, { at, to }]) => {
          const { now } = world()
          if (now - at >= rest || isAway(world(), to)) return []
          return [`The operator of ${what}, ${Math.round((now - at) / 1000)} s ago.`]
        })
    }
  }
}
