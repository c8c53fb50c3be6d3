/**
 * How many agents sessions may have at a time in one cluster, and which of a session's agents are within the bounds.
 *
 * Not here: starting agents (app/sessions/member), and the bounds of sessions (session-bounds.ts).
 */

import type { SessionFailure } from "../resources/session-failure.ts"
import { reachedBound, type SessionBounds, userText } from "./session-bounds.ts"

/** Agents that a session has, is starting or asks for. Sessions on one container share its agent. */
export interface AgentUse {
  /** Kubernetes user of the session. */
  readonly user: string
  /** Any text that is equal for equal agents. */
  readonly agents: ReadonlyArray<string>
}

/** The agents that may be started, and why the first of the others may not. */
export interface GrantedAgents {
  readonly granted: ReadonlySet<string>
  readonly failure: SessionFailure | undefined
}

/**
 * Which of the wanted agents may be started, in their order. An agent that runs already costs nothing new, and one that
 * the user has already costs the user nothing new.
 */
export const agentsWithinBounds = (
  bounds: SessionBounds,
  wanted: AgentUse,
  inUse: Iterable<AgentUse>
): GrantedAgents => {
  const all = new Set<string>()
  const own = new Set<string>()
  for (const { agents, user } of inUse) {
    for (const agent of agents) {
      all.add(agent)
      if (user === wanted.user) own.add(agent)
    }
  }
  const granted = new Set<string>()
  let message: string | undefined
  for (const agent of wanted.agents) {
    const ofUser =
      own.has(agent) || own.size < bounds.agentsPerUser
        ? undefined
        : reachedBound(`agents of ${userText(wanted.user)}`, "agentsPerUser", own.size, bounds.agentsPerUser)
    const ofAll =
      all.has(agent) || all.size < bounds.agents
        ? undefined
        : reachedBound("agents of all users", "agents", all.size, bounds.agents)
    const problem = ofUser ?? ofAll
    message ??= problem
    if (problem !== undefined) continue
    granted.add(agent)
    all.add(agent)
    own.add(agent)
  }
  if (message === undefined) return { granted, failure: undefined }
  return { granted, failure: { reason: "NotAllowed", message: `${message}; end a session that is not needed` } }
}
