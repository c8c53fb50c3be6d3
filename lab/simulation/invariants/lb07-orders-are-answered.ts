/** L-B7 (failures.md §2.13). A user waits for a minute, so the reason has to come earlier. */

import { timedOut } from "../world/branch-order.ts"
import { branchRule } from "./branch-history.ts"

/** The shortest patience of a client that counts, ms. */
const patience = 30_000

export const ordersAreAnswered = branchRule({
  id: "L-B7",
  sentence: "An order of a branch that is given while nothing is wrong is answered by Ready or by a reason.",
  begin: (world, history) => {
    /** Clients that ordered while nothing was wrong, and when. */
    const hopeful = new Map<string, number>()
    return {
      on: {
        BranchesAsked: ({ at, client }) => {
          // Caches may still be behind right after a fault.
          const isCalm = world().isWell && at - history.faultAt > 400_000
          const isWhole = [...world().clusters.values()].every(({ host }) => !host.isGone)
          const wish = world().clients.get(client)?.branchWish
          if (isCalm && isWhole && (wish?.patience ?? 0) >= patience) hopeful.set(client, at)
        },
        ClientEnded: ({ client, message }) =>
          message.includes(timedOut) && history.faultAt < (hopeful.get(client) ?? -Infinity)
            ? `${client} was told nothing about its branch: ${message}.`
            : undefined
      }
    }
  }
})
