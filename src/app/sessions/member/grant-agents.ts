/**
 * Says which agents a session may start, by the bounds of agents and by everything that the sessions of this cluster
 * have or start now. The rule is in `domain/sessions/agent-bounds.ts`; `session-agents.ts` starts them.
 */

import type { SessionFailure } from "../../../domain/resources/session-failure.ts"
import { agentsWithinBounds, type AgentUse } from "../../../domain/sessions/agent-bounds.ts"
import type { AgentPlacement } from "../../../domain/targets/pod-choice.ts"
import type { ChildTurn, ClusterSessionState, SessionState } from "./session-state.ts"

/** The places that may get an agent; `undefined` for a targetless one. */
export type Places = ReadonlyArray<AgentPlacement | undefined>

/** A container has one agent, whatever sessions use it; a targetless session has one of its own. */
const agentKey = ({ session }: SessionState, containerId: string | undefined): string =>
  containerId ?? `session ${session.metadata.name}`

const useOf = (session: SessionState): AgentUse => ({
  user: session.session.spec.owner.k8sUsername,
  agents: [...session.starting, ...session.agents.map(({ placement }) => agentKey(session, placement?.containerId))]
})

/** The parts of the controller's state that say what is in use. */
type InUse = Pick<ClusterSessionState, "operatorSince" | "sessions" | "sightings"> & {
  readonly options: Pick<ClusterSessionState["options"], "bounds">
}

/**
 * The places in which the session may start agents now; `failure` says why not in all of them. A session that is older
 * than this process had its agents already, and keeps them.
 */
export const grantAgents = (
  { operatorSince, options, sessions, sightings }: InUse,
  { key, known, view }: Pick<ChildTurn, "key" | "known" | "view">,
  wanted: Places
): { readonly places: Places; readonly failure: SessionFailure | undefined } => {
  const keys = wanted.map((place) => agentKey(known, place?.containerId))
  const asked: AgentUse = { user: view.spec.owner.k8sUsername, agents: keys }
  const isOld = sightings.seen(key).created < operatorSince
  const { failure, granted } = isOld
    ? { failure: undefined, granted: new Set(keys) }
    : agentsWithinBounds(options.bounds, asked, [...sessions.values()].map(useOf))
  known.starting = granted
  return { places: wanted.filter((place) => granted.has(agentKey(known, place?.containerId))), failure }
}
