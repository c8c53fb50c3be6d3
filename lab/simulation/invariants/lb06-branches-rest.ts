/** L-B6 (failures.md §2.12). A status that is copied back and forth would be written for ever. */

import { timeOf } from "../../../src/domain/resources/object-meta.ts"
import { phaseOfBranch } from "../world/branch-order.ts"
import { branchPath, branchRule, isBranchCall, sessionsOf } from "./branch-history.ts"

/** How long a branch must be Ready before it counts as at rest, and then has no write, ms. */
const settling = 120_000
const rest = 60_000

export const branchesRest = branchRule({
  id: "L-B6",
  sentence: "At rest nothing is written about an unused branch, until it expires.",
  begin: (world, history) => {
    /** By UID: the last write, and when the sessions of the branch last changed. */
    const writes = new Map<string, { readonly what: string; readonly at: number }>()
    const used = new Map<string, number>()
    return {
      on: {
        Committed: ({ at, commit: { after, before } }) => {
          const record = history.of(after)
          if (record === undefined || after === undefined) return
          const sessions = sessionsOf(after).join()
          if (sessions !== "" || before === undefined || sessionsOf(before).join() !== sessions)
            used.set(record.uid, at)
        },
        Called: ({ at, call, process }) => {
          const { name, namespace, to, verb } = call
          if (!isBranchCall(call) || (verb !== "patch" && verb !== "create")) return
          const written = [...history.records.values()].findLast(
            ({ cluster, object: { metadata } }) =>
              cluster === to && metadata.name === name && metadata.namespace === namespace
          )
          if (written !== undefined) writes.set(written.uid, { what: `${process} ${verb}es ${name} in ${to}`, at })
        }
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
})
