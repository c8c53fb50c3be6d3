import type { Invariant } from "./invariant.ts"

/**
 * Failures.md S10, on what exists: there is one replica and no lease, so its epoch ends when its process crashes, ends, is paused or is
 * replaced. A call that such a process made before may still arrive. With leader election a process that lost its lease counts
 * as over too.
 */
export const noCallFromTheDead: Invariant = {
  id: "S10",
  sentence: "No call is made by an operator process whose time is over.",
  begin: () => {
    const current = new Map<string, string>()
    const paused = new Set<string>()
    return {
      on: (event) => {
        if (event._tag === "Operator") {
          const { change, cluster, process } = event
          if (change === "started") {
            const before = current.get(cluster)
            current.set(cluster, process)
            return before === undefined ? undefined : `${process} was started while ${before} still runs.`
          }
          if (change === "paused") paused.add(process)
          else if (change === "resumed") paused.delete(process)
          else if (current.get(cluster) === process) current.delete(cluster)
          return undefined
        }
        if (event._tag !== "Called") return undefined
        const { call, process } = event
        const alive = current.get(call.operator)
        const what = `${call.verb} ${call.resource} ${call.name}`.trimEnd()
        if (alive !== process) return `${process} calls ${what} in ${call.to}, but ${alive ?? "nobody"} is the operator of ${call.operator} now.`
        return paused.has(process) ? `${process} calls ${what} in ${call.to} while it is paused.` : undefined
      }
    }
  }
}
