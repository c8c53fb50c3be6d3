/** L-B6 (failures.md §2.12). A status that is copied back and forth would be written for ever. */

import { timeOf } from "../../../src/domain/resources/object-meta.ts"
import { phaseOfBranch } from "../world/branch-order.ts"
import { branchHistory, isBranchCall, branchPath, sessionsOf } from "./branch-history.ts"
import type { Invariant } from "./invariant.ts"

/** How long a branch must be Ready before it counts as at rest, and then has no write, ms. */
const settling = 120_000
const rest = 60_000

export const branchesRest: Invariant = {
  id: "L-B6",
  ofBranches: true,
  sentence: "At rest nothing is written about a branch that nobody uses, until it expires.",
  begin: (world) => {
    const history = branchHistory(world)
    /** By UID: the last write, and when the sessions of the branch last changed. */
    const writes = new Map<string, { readonly what: string; readonly at: number }>()
    const used = new Map<string, number>()
    return {
      on: (event) => {
        history.take(event)
        if (event._tag === "Committed") {
          const { after, before } = event.commit
          const record = history.of(after)
          if (record !== undefined && after !== undefined) {
            const sessions = sessionsOf(after).join()
            if (sessions !== "" || before === undefined || sessionsOf(before).join() !== sessions)
              used.set(record.uid, event.at)
          }
          return undefined
        }
        if (event._tag !== "Called" || !isBranchCall(event.call)) return undefined
        const { name, namespace, to, verb } = event.call
        if (verb !== "patch" && verb !== "create") return undefined
        const object = [...history.records.values()].findLast(
          (record) =>
            record.cluster === to &&
            record.object.metadata.name === name &&
            record.object.metadata.namespace === namespace
        )
        if (object !== undefined)
          writes.set(object.uid, { what: `${event.process} ${verb}es ${name} in ${to}`, at: event.at })
        return undefined
      },
      atRest: () => {
        const { clusters, now } = world()
        return [...history.records.values()].flatMap(({ cluster, goneAt, object, phaseAt, uid }) => {
          const write = writes.get(uid)
          const isQuiet = phaseOfBranch(object) === "Ready" && sessionsOf(object).length === 0
          const expires = timeOf((object["status"] as { readonly expireTime?: string } | undefined)?.expireTime) ?? 0
          if (goneAt !== undefined || !isQuiet || expires < now || clusters.get(cluster)?.host.isGone === true)
            return []
          const since = Math.max(phaseAt, used.get(uid) ?? 0)
          if (now - since < settling || write === undefined || now - write.at > rest) return []
          return [
            `${write.what}, although ${branchPath(object)} has been at rest for ${Math.round((now - since) / 1_000)} s.`
          ]
        })
      }
    }
  }
}
