/**
 * Judges whether an agent still serves: from pings that it answers or not, and from what the API server says of the pod
 * beside which it works.
 *
 * Not here: the pings themselves (app/sessions/member/agent-watch.ts), what becomes of a session whose agent is lost
 * (agent-end.ts), and what the session says meanwhile (child-plan.ts).
 */

/** Milliseconds between two rounds of a watch. In each round an agent is asked once. */
export const roundEvery = 8_000

/**
 * Rounds in a row without a word after which an agent is suspected, 24 s at most after it fell silent. No client is let
 * in to it from then on. With a ping interval of 3 s or more a client reconnects fewer than five times before
 * (operator-api.md §8.5).
 */
const suspectedAfter = 2

/**
 * Rounds in a row without a word after which an agent is given up, 40 s at most after it fell silent. A file operation
 * may hold up an answer for long (agent.md §4.2), and a session has to be served again within 60 s.
 */
const lostAfter = 4

/**
 * Milliseconds in which an agent must say its first word on a new connection: a round more than a watch needs to give
 * up an agent that is silent on all of them.
 */
export const answersWithin: number = (lostAfter + 2) * roundEvery

/**
 * Rounds in which an agent must confirm that it steals a port. Stealing may stop for ever while the agent answers pings
 * (agent.md §6.10).
 */
const confirmsAfter: number = lostAfter + 2

/** Connections in a row that an agent may end right away before it is given up: it may be about to exit. */
const earlyEndsBorne = 1
const endsConnections = "it ends its connections"

/** Rounds after which the agent of a pod that is being deleted is given up at the next look, 24 s at most. */
const leavingAfter = 3

/** The API server's word about the pod beside which an agent works. */
export type AgentPodState =
  /** It did not say. */
  | "Unknown"
  | "There"
  /** The pod is being deleted. Its container may still run: a drain takes its time. */
  | "Leaving"
  /** The pod, or the container that the agent was started for, does not exist any more. */
  | "Gone"

/** The watch over one agent. Rounds are counted and not ms: a suspended operator has not waited. */
export interface AgentWatch {
  /** How many rounds have begun. */
  readonly rounds: number
  /** Whether the agent was asked and has not said anything since. */
  readonly isAsked: boolean
  /** Rounds in a row that ended without a word of the agent. */
  readonly quietRounds: number
  /** Rounds since a look found the target's pod being deleted; `undefined` if the last look did not. */
  readonly leavingRounds: number | undefined
  /** Connections in a row that the agent has ended right after their begin, without a reason. */
  readonly earlyEnds: number
  /** Why the agent was given up, if it was. Nothing changes this any more. */
  readonly lost: string | undefined
}

/** How an agent stands. */
export type AgentHealth =
  | { readonly _tag: "Serving" }
  /** It has not answered for a while. It may only be busy, so its connections stay; new clients have to wait. */
  | { readonly _tag: "Suspected" }
  /** It was given up for good, and another agent is made in its place. */
  | { readonly _tag: "Lost"; readonly why: string }

/** Why an agent is given up that hangs. */
export const silent = "it does not answer any more"

export const newWatch: AgentWatch = {
  rounds: 0,
  isAsked: false,
  quietRounds: 0,
  leavingRounds: undefined,
  earlyEnds: 0,
  lost: undefined
}

/** The watch after any message of the agent. */
export const heardAgent = (watch: AgentWatch): AgentWatch =>
  watch.lost === undefined && (watch.isAsked || watch.quietRounds > 0)
    ? { ...watch, isAsked: false, quietRounds: 0 }
    : watch

/** The watch at the beginning of a round, in which the agent is asked (again). */
export const nextRound = (watch: AgentWatch): AgentWatch => {
  if (watch.lost !== undefined) return watch
  const quietRounds = watch.isAsked ? watch.quietRounds + 1 : 0
  const leavingRounds = watch.leavingRounds === undefined ? undefined : watch.leavingRounds + 1
  const lost = quietRounds >= lostAfter ? silent : undefined
  return { ...watch, rounds: watch.rounds + 1, isAsked: true, quietRounds, leavingRounds, lost }
}

/** So an agent says that a part of it has failed. It ends each connection then. */
export const isAgentFailure = (reason: string): boolean => reason.startsWith("Background task ")

/** The end of an idle connection by its agent. */
export interface ConnectionEnd {
  /** The agent's own words, which it says where a part of it has failed: every connection ends like this one. */
  readonly close: string | undefined
  /** The end as the connection saw it. */
  readonly reason: string
  /** Whether the connection had hardly begun. */
  readonly isEarly: boolean
}

/**
 * The watch after the agent has ended an idle connection, of which nothing was asked but answers to pings. An agent
 * that exits does so once; the next connection leads to another agent, or to none.
 */
export const endedConnection = (watch: AgentWatch, { close, isEarly, reason }: ConnectionEnd): AgentWatch => {
  if (watch.lost !== undefined) return watch
  if (close !== undefined) return { ...watch, lost: `${endsConnections}: ${close}` }
  const earlyEnds = isEarly ? watch.earlyEnds + 1 : 0
  return { ...watch, earlyEnds, lost: earlyEnds > earlyEndsBorne ? `${endsConnections}: ${reason}` : undefined }
}

/** The watch over an agent that answers and has not confirmed a port. `since`: the rounds when it was asked for it. */
export const leftPortOpen = (watch: AgentWatch, port: number, since: number): AgentWatch =>
  watch.lost === undefined && watch.rounds - since > confirmsAfter
    ? { ...watch, lost: `it answers, and has not confirmed port ${port} for ${(confirmsAfter * roundEvery) / 1_000} s` }
    : watch

/** The watch after a look at the target's pod. */
export const lookedAtPod = (watch: AgentWatch, state: AgentPodState): AgentWatch => {
  if (watch.lost !== undefined || state === "Unknown") return watch
  const leavingRounds = state === "Leaving" ? (watch.leavingRounds ?? 0) : undefined
  const isGone = state === "Gone" || (leavingRounds !== undefined && leavingRounds >= leavingAfter)
  return { ...watch, leavingRounds, lost: isGone ? "its pod is gone" : undefined }
}

export const healthOf = ({ lost, quietRounds }: AgentWatch): AgentHealth => {
  if (lost !== undefined) return { _tag: "Lost", why: lost }
  return quietRounds >= suspectedAfter ? { _tag: "Suspected" } : { _tag: "Serving" }
}
