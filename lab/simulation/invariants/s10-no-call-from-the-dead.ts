/**
 * S10 (failures.md §1.10). A process's time ends when it crashes, ends, is paused or is replaced; a call that it made
 * before may still arrive. Acts of a standby replica are N13.
 */

import type { Invariant } from "./invariant.ts"

export const noCallFromTheDead: Invariant = {
  id: "S10",
  sentence: "No call is made by an operator process whose time is over.",
  begin: () => {
    /** The running process, by cluster, or by cluster and replica where there are several replicas. */
    const current = new Map<string, string>()
    /** By process: its key in `current`. */
    const replicas = new Map<string, string>()
    const paused = new Set<string>()
    return {
      on: {
        Operator: ({ change, cluster: home, process, replica }) => {
          const cluster = replica === undefined ? home : `${home} ${replica}`
          replicas.set(process, cluster)
          if (change === "started") {
            const before = current.get(cluster)
            current.set(cluster, process)
            return before === undefined ? undefined : `${process} was started while ${before} still runs.`
          }
          if (change === "paused") paused.add(process)
          else if (change === "resumed") paused.delete(process)
          else if (current.get(cluster) === process) current.delete(cluster)
        },
        Called: ({ call: { name, operator, resource, to, verb }, process }) => {
          const alive = current.get(replicas.get(process) ?? operator)
          const calls = `${process} calls ${`${verb} ${resource} ${name}`.trimEnd()} in ${to}`
          if (alive !== process) return `${calls}, but ${alive ?? "nobody"} is the operator of ${operator} now.`
          return paused.has(process) ? `${calls} while it is paused.` : undefined
        }
      }
    }
  }
}
