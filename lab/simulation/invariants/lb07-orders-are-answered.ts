/** L-B7 (failures.md §2.13). A user waits for a minute, so the reason has to come earlier. */

import { timedOut } from "../world/branch-order.ts"
import { branchHistory } from "./branch-history.ts"
import type { Invariant } from "./invariant.ts"

/** The shortest patience of a client that counts, ms. */
const patience = 30_000

export const ordersAreAnswered: Invariant = {
  id: "L-B7",
  ofBranches: true,
  sentence: "An order of a branch that is given while nothing is wrong is answered by Ready or by a reason.",
  begin: (world) => {
    const history = branchHistory(world)
    /** Clients that ordered while nothing was wrong, and when. */
    const hopeful = new Map<string, number>()
    return {
      on: (event) => {
        history.take(event)
        if (event._tag === "BranchesAsked") {
          // Caches may still be behind right after a fault.
          const isCalm = world().isWell && event.at - history.faultAt > 400_000
          const isWhole = [...world().clusters.values()].every(({ host }) => !host.isGone)
          const wish = world().clients.get(event.client)?.branchWish
          if (isCalm && isWhole && (wish?.patience ?? 0) >= patience) hopeful.set(event.client, event.at)
          return undefined
        }
        if (event._tag !== "ClientEnded" || !event.message.includes(timedOut)) return undefined
        const since = hopeful.get(event.client)
        return since !== undefined && history.faultAt < since
          ? `${event.client} was told nothing about its branch: ${event.message}.`
          : undefined
      }
    }
  }
}
