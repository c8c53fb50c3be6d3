/**
 * N5 (failures.md §3.5, §4.16). A session is complete at the moment when it becomes Ready. Later it may lose clusters
 * and stays Ready.
 */

import { notConfigured } from "../../../src/domain/sessions/cluster-verdict.ts"
import type { Invariant } from "./invariant.ts"
import { isParent, parentStatus, recordedChildren } from "./session-objects.ts"

export const readyIsComplete: Invariant = {
  id: "N5",
  sentence:
    "A session becomes Ready only with its default cluster ready, and with each other one ready or left out with " +
    "a reason.",
  begin: (world) => ({
    on: {
      Committed: ({ commit }) => {
        const { after, before } = commit
        if (after === undefined || !isParent(commit) || parentStatus(after).phase !== "Ready") return undefined
        if (before !== undefined && parentStatus(before).phase === "Ready") return undefined
        const { name } = after.metadata
        const { clusters = [], defaultCluster = "(none)" } = (after["spec"] ?? {}) as {
          readonly clusters?: ReadonlyArray<string>
          readonly defaultCluster?: string
        }
        const entries = new Map(recordedChildren(after))
        if (entries.get(defaultCluster)?.ready !== true)
          return `${name} becomes Ready, but its default cluster ${defaultCluster} is not ready.`
        const left = clusters.flatMap((cluster) => {
          const entry = entries.get(cluster)
          return entry?.ready === true ? [] : [{ cluster, error: entry?.error }]
        })
        for (const { cluster, error } of left) {
          // Nothing is demanded of a cluster that has left the fleet.
          if (world().plan.sessionStart === "all" && error !== notConfigured)
            return `${name} becomes Ready without ${cluster}, although all clusters are demanded.`
          if (error === undefined) return `${name} becomes Ready without ${cluster}, and does not say why.`
        }
      }
    }
  })
}
