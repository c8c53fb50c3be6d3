/**
 * N12 (failures.md §3.12). Writes only: several readers of one process may want the same list. Two kinds of writes are
 * left out, as their writers cannot know of an earlier answer: a primary that is a workload cluster too writes its own
 * cluster's children twice over, and the ledger of debts makes a first try of its own.
 */

import { mirrordClusterSessions } from "../../../src/domain/resources/mirrord-cluster-session.ts"
import { mirrordMultiClusterSessions } from "../../../src/domain/resources/mirrord-multi-cluster-session.ts"
import type { PortCall } from "../world/world-event.ts"
import { debtsOf } from "./debts.ts"
import type { Invariant } from "./invariant.ts"

const writes: ReadonlySet<string> = new Set(["create", "patch", "delete"])

/** Whether a call is a write that may be a repetition. */
const isRepeatable = ({ operator, resource, to, verb }: PortCall): boolean => {
  if (!writes.has(verb)) return false
  // A user's request to begin or end a session is not a repetition.
  if (resource === mirrordMultiClusterSessions.plural) return verb === "patch"
  return resource === mirrordClusterSessions.plural && operator !== to
}

const keyOf = ({ name, operator, resource, subresource, to, verb }: PortCall): string =>
  `${operator} ${verb} ${resource} ${name} ${subresource} ${to}`

export const retryAfter: Invariant = {
  id: "N12",
  sentence: "Nothing that a server has asked to wait for is tried again sooner.",
  begin: (world) => {
    const until = new Map<string, number>()
    /** Debts for which the ledger has made its first try. */
    const tried = new Set<string>()
    return {
      on: {
        Operator: () => until.clear(),
        Answered: ({ at, call, retryAfterMs }) => {
          if (retryAfterMs !== undefined && isRepeatable(call)) until.set(keyOf(call), at + retryAfterMs)
        },
        Called: ({ at, call }) => {
          const { name, operator, to, verb } = call
          const key = keyOf(call)
          const left = (until.get(key) ?? 0) - at
          if (left <= 0 || !isRepeatable(call)) return undefined
          if (verb !== "delete" || tried.has(key) || debtsOf(world()).get(name) !== to)
            return `The operator of ${operator} tries to ${verb} ${name} in ${to} again ${left} ms too soon.`
          tried.add(key)
        }
      }
    }
  }
}
