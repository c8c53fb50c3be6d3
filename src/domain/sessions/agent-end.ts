/**
 * Decides what becomes of a session when one of its agents has ended or was given up: at once or after a pause, from
 * the target on or only beside the other agents.
 *
 * Not here: whether an agent is given up (agent-health.ts), and the length of the pause (child-plan.ts).
 */

/** An agent that ends by itself sooner than this after its start has failed, in ms. */
export const steadyAfter = 10_000

/**
 * An agent that is given up within this time after another of its session has failed too, in ms: where each agent falls
 * silent, agents must not be made without a pause.
 */
const rareAfter = 600_000

/** The end of one agent of a session. */
export interface AgentEnd {
  /** Whether environment, files, names and outgoing connections came from this agent. */
  readonly isRepresentative: boolean
  readonly cause: "Ended" | "GivenUp"
  /** Milliseconds since its start. */
  readonly servedFor: number
  /** Milliseconds since the session gave up an agent before, if it ever did. */
  readonly sinceGivenUp: number | undefined
}

/** The consequence for the session. */
export type AfterEnd =
  /** The target is resolved again, and agents are started, at once. */
  | "StartOver"
  /** The same, after the pause that follows a failed attempt. */
  | "Fail"
  /** The session goes on; the target's pods are looked at in a moment. */
  | "LookSoon"
  /** The session goes on; the target's pods are looked at when it is time. */
  | "LookLater"

const isFailure = ({ cause, servedFor, sinceGivenUp }: AgentEnd): boolean =>
  cause === "Ended" ? servedFor < steadyAfter : sinceGivenUp !== undefined && sinceGivenUp < rareAfter

export const afterEnd = (end: AgentEnd): AfterEnd => {
  if (end.isRepresentative) return isFailure(end) ? "Fail" : "StartOver"
  return isFailure(end) ? "LookLater" : "LookSoon"
}

/**
 * The placements with which a session starts over. A container whose agent was given up may be on a node that is lost,
 * where nothing starts: the session does not wait for it if there are others. It is taken in later, like a new pod.
 */
export const startingPlacements = <P extends { readonly containerId: string }>(
  placements: ReadonlyArray<P>,
  givenUp: string | undefined
): ReadonlyArray<P> => {
  const others = placements.filter(({ containerId }) => containerId !== givenUp)
  return others.length > 0 ? others : placements
}
