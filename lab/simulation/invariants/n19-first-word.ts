/**
 * N19 (failures.md §3.20, §4.32). At the moment when a child becomes Ready, each agent that it holds has said a word on
 * a connection that is open: a hung agent takes connections too. Their later life is N15's.
 */

import { pods } from "../../../src/domain/resources/core-kinds.ts"
import type { KubeObject } from "../../../src/ports/kube-api.ts"
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
    return {
      on: (event) => {
        switch (event._tag) {
          case "AgentSaid": {
            const key = `${event.cluster} ${event.agent}`
            const connections = spoken.get(key)
            if (connections === undefined) spoken.set(key, new Set([event.connection]))
            else connections.add(event.connection)
            return undefined
          }
          case "AgentDisconnected":
            spoken.get(`${event.cluster} ${event.agent}`)?.delete(event.connection)
            return undefined
          case "Committed": {
            const { after, before } = event.commit
            if (after === undefined || !isChild(event.commit) || !saysReady(after)) return undefined
            if (saysReady(before) || wasSilent(before)) return undefined
            const cluster = world().cluster(event.cluster)
            const owned = jobsOf(cluster, after)
            const kept = new Set(world().network.connections.flatMap(({ isKept, what }) => (isKept() ? [what] : [])))
            const mute = cluster.kubelet.agents.find(
              ({ agent, name }) =>
                kept.has(`agent ${name}`) &&
                agent.clients > 0 &&
                (spoken.get(`${event.cluster} ${name}`)?.size ?? 0) === 0 &&
                owned.has(
                  cluster.server.objects.peekAll(pods).find(({ metadata }) => metadata.name === name)?.metadata
                    .labels?.["job-name"] ?? ""
                )
            )
            return mute === undefined
              ? undefined
              : `${after.metadata.name} in ${event.cluster} becomes Ready, and its agent ${mute.name} has said nothing.`
          }
          default:
            return undefined
        }
      }
    }
  }
}
