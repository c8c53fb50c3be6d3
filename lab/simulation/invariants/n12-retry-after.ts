import { debtsOf } from "./debts.ts"
import type { Invariant } from "./invariant.ts"

const sessionKinds: ReadonlySet<string> = new Set(["mirrordmulticlustersessions", "mirrordclustersessions"])
const writes: ReadonlySet<string> = new Set(["create", "patch", "delete"])

/**
 * Writes only: several readers of one process may want the same list. A primary that is a workload cluster too has two
 * writers of its own cluster's children, who do not know of each other. Nor does the ledger of debts know, when a child
 * is handed over to it, what was answered before: its first try is its own.
 */
export const retryAfter: Invariant = {
  id: "N12",
  sentence: "Nothing that a server has asked to wait for is tried again sooner.",
  begin: (world) => {
    const until = new Map<string, number>()
    /** Debts of which the ledger has had its first try. */
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
        // A user's wish to begin or to end a session is not a repetition.
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
