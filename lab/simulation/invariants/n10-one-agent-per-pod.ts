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
      on: {
        AgentEnded: ({ agent: ended, cluster }) => {
          for (const [key, agent] of running) if (agent === ended && key.startsWith(`${cluster} `)) running.delete(key)
        },
        AgentStarted: ({ agent, cluster, pod }) => {
          if (pod === "") return undefined
          const key = `${cluster} ${pod}`
          const before = running.get(key)
          running.set(key, agent)
          return before === undefined
            ? undefined
            : `${agent} starts for ${pod} in ${cluster}, where ${before} still runs.`
        }
      }
    }
  }
}
