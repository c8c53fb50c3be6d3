/**
 * N25 (failures.md §3.26). A provider that cannot be read says nothing: the clusters that were found last stay in the
 * fleet, as with a list that cannot be read (§4.18).
 */

import type { Invariant } from "./invariant.ts"

/** A primary may still see what was taken away and given back so many ms ago. */
const isOld = 30_000

export const foundClustersStay: Invariant = {
  id: "N25",
  sentence: "No cluster leaves the fleet while its provider names it, or cannot be read.",
  begin: (world) => {
    /** When each cluster was taken away or came back, for the last time. */
    const changedAt = new Map<string, number>()
    const was = new Map<string, boolean>()
    return {
      on: {
        Fault: ({ at }) => {
          for (const name of Object.keys(world().plan.members)) {
            const is = world().authors.isProvided(name)
            if (was.get(name) !== is) changedAt.set(name, at)
            was.set(name, is)
          }
        },
        Log: ({ at, line, process }) => {
          if (line.message !== "cluster leaves the fleet") return undefined
          const cluster = String(line.details["cluster"])
          // The story's act is told before it is done.
          const isRecent = at - (changedAt.get(cluster) ?? -Infinity) < isOld
          return world().authors.isProvided(cluster) && !isRecent
            ? `${process} lets ${cluster} leave the fleet, which its provider names.`
            : undefined
        }
      }
    }
  }
}
