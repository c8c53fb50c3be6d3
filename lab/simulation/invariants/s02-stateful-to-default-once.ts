/**
 * S2 (failures.md §1.2). The agent of a copy serves the session on it, as the default agent does. Byte for byte,
 * because no stateful message is rewritten on its way but for the variables that are left out: each agent connection's
 * stateful frames are the beginning of what one client connection said, and no other agent connection serves that
 * client connection.
 */

import type { Invariant } from "./invariant.ts"
import { type AgentConnection, type ClientConnection, statefulTraffic } from "./stateful-traffic.ts"
import { waitsForEver } from "./waits-for-ever.ts"

/** After so many ms a frame has arrived where nothing is broken. */
const arrival = 30_000

/** The agent connection for which no client connection of its own is left, if there is one (bipartite matching). */
const findUnmatched = (agents: ReadonlyArray<AgentConnection>): AgentConnection | undefined => {
  const taken = new Map<ClientConnection, AgentConnection>()
  const place = (agent: AgentConnection, tried: Set<ClientConnection>): boolean =>
    agent.candidates.some((client) => {
      if (tried.has(client)) return false
      tried.add(client)
      const rival = taken.get(client)
      if (rival !== undefined && !place(rival, tried)) return false
      taken.set(client, agent)
      return true
    })
  return agents.find((agent) => !place(agent, new Set()))
}

export const statefulToDefaultOnce: Invariant = {
  id: "S2",
  sentence: "Every stateful frame of a client reaches exactly the default agent, in order, at most once.",
  begin: (world) => {
    const traffic = statefulTraffic(world)
    return {
      each: (event) => {
        const passed = traffic.take(event)
        if (passed?._tag !== "AgentHeard") return undefined
        const { agent, before } = passed
        const where = `agent ${agent.agent} in ${agent.cluster}`
        const isOfCopies = before.some(({ cluster }) => cluster === agent.cluster)
        if (agent.cluster !== world().defaultCluster && !isOfCopies)
          return `The ${where} heard a stateful frame; that cluster is not the default one.`
        if (agent.candidates.length === 0) {
          const who = [...new Set(before.map(({ client }) => client))].join(" or ")
          return (
            `Frame ${agent.heard.length} at the ${where} is not what ${who === "" ? "any client" : who} said as ` +
            `its number ${agent.heard.length}.`
          )
        }
        const served = traffic.servedBy(agent)
        const rivals = served === undefined ? [] : [...(traffic.servers.get(served.connection) ?? [])]
        const rival = rivals.find((other) => other !== agent && other.candidates.length === 1)
        return served === undefined || rival === undefined
          ? undefined
          : `What ${served.client} said on connection ${served.connection} reached both the ${where} and agent ` +
              `${rival.agent}.`
      },
      atRest: (moment) => {
        const heard = [...traffic.agents.values()].filter((agent) => agent.heard.length > 0)
        const double = findUnmatched(heard)
        if (double !== undefined)
          return [`The frames at agent ${double.agent} in ${double.cluster} reached another agent connection too.`]
        if (moment === "left") return []
        const due = world().now - arrival
        return [...traffic.clients.values()].flatMap((client) => {
          if (!client.open || client.said.length === 0 || client.said.last > due) return []
          const user = world().clients.get(client.client)
          if (user !== undefined && waitsForEver(user)) return []
          const most = Math.max(
            0,
            ...[...(traffic.servers.get(client.connection) ?? [])].map(({ heard: { length } }) => length)
          )
          return most === client.said.length
            ? []
            : [`Of ${client.said.length} stateful frames of ${client.client} only ${most} reached the default agent.`]
        })
      }
    }
  }
}
