/**
 * N19 (failures.md §3.20, §4.32). At the moment when a child becomes Ready, each agent that it holds has said a word on
 * a connection that is open: a hung agent takes connections too. Their later life is N15's.
 */

import { pods } from "../../../src/domain/resources/core-kinds.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
import type { SimCluster } from "../world/world.ts"
import type { Invariant } from "./invariant.ts"
import { conditionsOf, isChild, isLeaving, jobsOf } from "./session-objects.ts"

const saysReady = (object: KubeObject | undefined): boolean =>
  object !== undefined &&
  !isLeaving(object) &&
  conditionsOf(object).some(({ status, type }) => type === "Ready" && status === "True")

/** Whether an agent was silent for a moment: by its next word the session is Ready again, even if agents are added. */
const wasSilent = (object: KubeObject | undefined): boolean =>
  object !== undefined &&
  conditionsOf(object).some(({ reason, status }) => status === "False" && reason === "AgentSilent")

export const firstWord: Invariant = {
  id: "N19",
  sentence: "A session becomes Ready only after each of its agents has said a word.",
  begin: (world) => {
    /** By agent, the open connections on which it has said something. */
    const spoken = new Map<string, Set<number>>()
    /** An agent of a session that has said nothing, on a connection that is open. */
    const muteOf = (cluster: SimCluster, session: KubeObject) => {
      const owned = jobsOf(cluster, session)
      const all = cluster.server.objects.peekAll(pods)
      const kept = new Set(world().network.connections.flatMap(({ isKept, what }) => (isKept() ? [what] : [])))
      return cluster.kubelet.agents.find(({ agent, name }) => {
        const isConnected = kept.has(`agent ${name}`) && agent.clients > 0
        if (!isConnected || (spoken.get(`${cluster.name} ${name}`)?.size ?? 0) > 0) return false
        return owned.has(all.find(({ metadata }) => metadata.name === name)?.metadata.labels?.["job-name"] ?? "")
      })
    }
    return {
      on: {
        AgentSaid: ({ agent, cluster, connection }) => {
          const key = `${cluster} ${agent}`
          spoken.set(key, (spoken.get(key) ?? new Set()).add(connection))
        },
        AgentDisconnected: ({ agent, cluster, connection }) =>
          void spoken.get(`${cluster} ${agent}`)?.delete(connection),
        Committed: ({ cluster, commit }) => {
          const { after, before } = commit
          if (after === undefined || !isChild(commit) || !saysReady(after)) return undefined
          if (saysReady(before) || wasSilent(before)) return undefined
          const mute = muteOf(world().cluster(cluster), after)
          return mute === undefined
            ? undefined
            : `${after.metadata.name} in ${cluster} becomes Ready, and its agent ${mute.name} has said nothing.`
        }
      }
    }
  }
}
