/**
 * N10 (failures.md §3.10, agent.md §2.5). Two agents in one pod fight about its packet filter, and do the same work
 * twice.
 */

import type { Invariant } from "./invariant.ts"

export const oneAgentPerPod: Invariant = {
  id: "N10",
  sentence: "At most one agent runs for a pod.",
  begin: () => {
    /** Running agents by cluster and pod. */
    const running = new Map<string, string>()
    return {
      on: (event) => {
        if (event._tag === "AgentEnded") {
          for (const [key, agent] of running)
            if (agent === event.agent && key.startsWith(`${event.cluster} `)) running.delete(key)
          return undefined
        }
        if (event._tag !== "AgentStarted" || event.pod === "") return undefined
        const key = `${event.cluster} ${event.pod}`
        const before = running.get(key)
        running.set(key, event.agent)
        return before === undefined
          ? undefined
          : `${event.agent} starts for ${event.pod} in ${event.cluster}, where ${before} still runs.`
      }
    }
  }
}
