/**
 * L6 (failures.md §2.6). A queue that does not drain repeats its work. So calls that create, delete or fail count as
 * work, and a world that has been well for long shows none. Health checks do not count: they fail for ever where an
 * operator is gone.
 */

import { events } from "../../../src/domain/events/event-object.ts"
import { branchDatabases } from "../../../src/domain/resources/branches/branch-database.ts"
import { configMaps } from "../../../src/domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import { mirrordOperators } from "../../../src/domain/resources/mirrord-operator.ts"
import { parentInName } from "../../../src/domain/sessions/names.ts"
import { isOfKind } from "../story/call-kind.ts"
import type { PortCall } from "../world/world-event.ts"
import { isAway } from "./debts.ts"
import type { Invariant } from "./invariant.ts"
import { isLeftOut, isParent, parentStatus } from "./session-objects.ts"

/** Length of the rest before the check, ms. */
const rest = 60_000

/**
 * Whether an answer shows that a queue has work. A watch whose version is too old starts again from a list, as it
 * should. An Event only reports work that is counted itself; N4 checks that none is written at rest. A missing object
 * may stay missing and is looked for now and then; the ledger is created when there is a debt to note.
 */
const isWork = ({ resource, verb }: PortCall, outcome: string): boolean => {
  if (resource === mirrordOperators.plural) return false
  if (verb !== "create" && verb !== "delete") {
    const isMissing = (verb === "get" || verb === "patch") && outcome === "NotFound"
    return outcome !== "ok" && outcome !== "Gone" && !isMissing
  }
  if (resource === "subjectaccessreviews" || resource === configMaps.plural) return false
  return resource !== events.plural || outcome !== "ok"
}

export const queuesDrain: Invariant = {
  id: "L6",
  sentence: "Once all is well, no operator is still trying.",
  begin: (world) => {
    /** Names of parents that failed. */
    const failed = new Set<string>()
    /** Names of parents that were deleted, as an abandoned session is after its TTL: their children go with them. */
    const gone = new Set<string>()
    /** The last call of each kind of work, and when it was made. */
    const last = new Map<string, { readonly at: number; readonly to: string }>()
    /** Whether the object of a session that is over is deleted: a parent, or a child after its parent. */
    const isOver = ({ name, resource }: PortCall, outcome: string): boolean =>
      failed.has(name) ||
      (outcome === "ok" && (resource === mirrordMultiClusterSessions.plural || gone.has(parentInName(name) ?? "")))
    /** Whether a call is one that operators make at rest too. */
    const isDue = (call: PortCall, outcome: string): boolean => {
      const { name, resource, verb } = call
      const isGone = outcome === "ok" || outcome === "NotFound"
      // Tokens are renewed for ever.
      if (isOfKind(call, "tokens")) return outcome === "ok"
      if (verb === "delete") {
        // A failed session is deleted after its retention, and an abandoned session after its TTL.
        if (isOver(call, outcome)) return true
        // A branch is deleted after its TTL, and a copy some time after its failure, perhaps in both clusters at once.
        if (resource === branchDatabases.plural && isGone) return true
      }
      // A member ends a child that never served; a session that left it out tries again with a new child.
      const isOfChild = resource === mirrordClusterSessions.plural && (verb === "create" || verb === "delete")
      return isOfChild && isLeftOut(world(), name)
    }
    return {
      on: {
        Committed: ({ commit }) => {
          const { after } = commit
          if (after !== undefined && isParent(commit) && parentStatus(after).phase === "Failed")
            failed.add(after.metadata.name)
        },
        Answered: ({ at, call, outcome }) => {
          const { name, operator, resource, to, verb } = call
          if (resource === mirrordMultiClusterSessions.plural && verb === "delete" && outcome === "ok") gone.add(name)
          if (isWork(call, outcome) && !isDue(call, outcome))
            last.set(`${operator}: ${verb} ${resource} in ${to}: ${outcome}`, { at, to })
        }
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
