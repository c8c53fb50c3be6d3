/**
 * Decides about the agents that are ephemeral containers of one pod (agent.md §2.7): which of them a session uses, when
 * another is added, and when none may be. An ephemeral container cannot be removed, so the agents that have ended stay
 * in the list, and a name is never used again.
 *
 * Not here: reading a pod and writing the container (adapters/agents).
 */

import type { PodProblem } from "../pod-problem.ts"

/** An agent in a pod's list of ephemeral containers. */
export interface EphemeralAgent {
  /** The container's name, which no other of the pod has or will have. */
  readonly name: string
  /** The container whose processes it sees. */
  readonly target: string
  /** The port on which it listens, at the pod's address. */
  readonly port: number
  readonly state:
    /** `problem`: why it cannot start, if the kubelet says so. */
    | { readonly _tag: "Starting"; readonly problem?: PodProblem | undefined }
    | { readonly _tag: "Running" }
    /** `reason`: the kubelet's word for it, such as `OOMKilled`. */
    | { readonly _tag: "Ended"; readonly exitCode: number; readonly reason?: string | undefined }
}

/** A pod, and the agent in it that a session wants. */
export interface WantedAgent {
  /** All agents of the pod, in the order in which they were added. */
  readonly agents: ReadonlyArray<EphemeralAgent>
  /** Common to the names of all agents of this run of the container, and to no other. */
  readonly base: string
  readonly target: string
  /** Whether all containers of the pod see each other's processes. Then each has redirects of its own. */
  readonly isShared: boolean
  /** Why the agent that there is cannot be used and has to end first, a clause; undefined if it can. */
  readonly mustEnd: (agent: EphemeralAgent) => string | undefined
}

/** The next step towards an agent. `detail` is a clause for people. */
export type EphemeralStep =
  | { readonly _tag: "Use"; readonly agent: EphemeralAgent }
  | { readonly _tag: "Wait"; readonly agent: EphemeralAgent; readonly detail: string | undefined }
  /** `cleansUp`: the new agent first removes the redirects of an earlier one, which had no time to do it itself. */
  | { readonly _tag: "Add"; readonly name: string; readonly cleansUp: boolean }
  | { readonly _tag: "Refuse"; readonly detail: string }

/** A process that was killed by a signal ends with a greater code. */
export const maxOwnExitCode = 128

const isLiving = ({ state }: EphemeralAgent): boolean => state._tag !== "Ended"

const numberOf = (base: string, name: string): number => {
  const digits = name.slice(base.length + 1)
  return name.startsWith(`${base}-`) && /^\d{1,9}$/u.test(digits) ? Number(digits) : 0
}

/** Whether the agent is of this run of the container: a container that is started again has another base. */
const isOwn = ({ base }: WantedAgent, { name }: EphemeralAgent): boolean => numberOf(base, name) > 0

const stepWith = (wanted: WantedAgent, agent: EphemeralAgent): EphemeralStep => {
  const reason = wanted.mustEnd(agent)
  if (reason !== undefined) return { _tag: "Wait", agent, detail: `${agent.name} has to end first: ${reason}` }
  if (agent.state._tag === "Running") return { _tag: "Use", agent }
  const problem = agent.state._tag === "Starting" ? agent.state.problem : undefined
  if (problem === undefined) return { _tag: "Wait", agent, detail: undefined }
  const fixed = "an ephemeral container cannot be changed or removed, so "
  return problem.kind === "Pull"
    ? {
        _tag: "Refuse",
        detail:
          `the image of its container ${agent.name} cannot be pulled: ${problem.words || problem.waits}; ${fixed}` +
          "make that image available or replace the pod"
      }
    : { _tag: "Refuse", detail: `${problem.reason}; ${fixed}put that right or replace the pod` }
}

/**
 * Plans the next step. Agents whose redirects have the same names are rivals: they would delete each other's, so there
 * is never a living one beside a new one. These are all agents of the pod, or with shared processes those of the same
 * container (agent.md §2.7).
 */
export const ephemeralStep = (wanted: WantedAgent): EphemeralStep => {
  const { agents, base, isShared, target } = wanted
  const rivals = agents.filter((agent) => !isShared || agent.target === target)
  const living = rivals.filter(isLiving)
  const own = living.find((agent) => isOwn(wanted, agent))
  const other = living.find((agent) => !isOwn(wanted, agent))
  if (other !== undefined) {
    const what = other.target === target ? "an earlier run of the container" : `container ${other.target}`
    return {
      _tag: "Refuse",
      detail:
        `the pod has an ephemeral agent already, ${other.name} beside ${what}, and two would fight over the pod's ` +
        "packet filter; it ends by itself a minute after its last session"
    }
  }
  if (own !== undefined) return stepWith(wanted, own)
  const last = rivals.at(-1)
  const exitCodes = rivals.flatMap(({ state }) => (state._tag === "Ended" ? [state.exitCode] : []))
  // An agent that failed may have ended before it removed what a killed one had left.
  const wasKilled = exitCodes.slice(exitCodes.lastIndexOf(0) + 1).some((code) => code > maxOwnExitCode)
  const number = agents.reduce((most, { name }) => Math.max(most, numberOf(base, name)), 0) + 1
  return {
    _tag: "Add",
    name: `${base}-${number}`,
    cleansUp: wasKilled || (last !== undefined && wanted.mustEnd(last) !== undefined)
  }
}

/**
 * The port of a new agent: the given one, or the first candidate that is free. `taken`: ports that the pod's containers
 * declare. Undefined if none is free. Ports that a program opens without declaring them cannot be known.
 */
export const ephemeralPort = (
  candidates: ReadonlyArray<number>,
  taken: ReadonlySet<number>,
  agents: ReadonlyArray<EphemeralAgent>
): number | undefined => {
  const used = new Set([...taken, ...agents.filter(isLiving).map(({ port }) => port)])
  return candidates.find((port) => !used.has(port))
}
