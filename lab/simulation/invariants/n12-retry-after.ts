/**
 * N12 (failures.md §3.12). Writes only: several readers of one process may want the same list. Two kinds of writes are
 * left out, as their writers cannot know of an earlier answer: a primary that is a workload cluster too writes its own
 * cluster's children twice over, and the ledger of debts makes a first try of its own.
 */

import { debtsOf } from "./debts.ts"
import type { Invariant } from "./invariant.ts"

const sessionKinds: ReadonlySet<string> = new Set(["mirrordmulticlustersessions", "mirrordclustersessions"])
const writes: ReadonlySet<string> = new Set(["create", "patch", "delete"])

export const retryAfter: Invariant = {
  id: "N12",
  sentence: "Nothing that a server has asked to wait for is tried again sooner.",
  begin: (world) => {
    const until = new Map<string, number>()
    /** Debts for which the ledger has made its first try. */
    const tried = new Set<string>()
    return {
      on: (event) => {
        if (event._tag === "Operator") until.clear()
        if (event._tag !== "Called" && event._tag !== "Answered") return undefined
        const { name, operator, resource, subresource, to, verb } = event.call
        if (
          !writes.has(verb) ||
          !sessionKinds.has(resource) ||
          (operator === to && resource === "mirrordclustersessions")
        )
          return undefined
        // A user's request to begin or end a session is not a repetition.
        if (verb !== "patch" && resource === "mirrordmulticlustersessions") return undefined
        const key = `${operator} ${verb} ${resource} ${name} ${subresource} ${to}`
        if (event._tag === "Answered") {
          if (event.retryAfterMs !== undefined) until.set(key, event.at + event.retryAfterMs)
          return undefined
        }
        const left = (until.get(key) ?? 0) - event.at
        if (left > 0 && verb === "delete" && !tried.has(key) && debtsOf(world()).get(name) === to) {
          tried.add(key)
          return undefined
        }
        return left > 0
          ? `The operator of ${operator} tries to ${verb} ${name} in ${to} again ${left} ms too soon.`
          : undefined
      }
    }
  }
}
