import type { Claim, ConnectionName } from "./port-locks.ts"

/**
 * Which connection to one agent steals which port, over all sessions. Agents are shared, and there the later of two
 * subscriptions that exclude each other evicts the earlier silently (wire.md §7.7), so it is decided before the agent
 * is asked (agent.md §6.2). The agent's own rule (§6.1) says which excludes which: a port is stolen whole by one, or
 * with filters by any number.
 *
 * Within a session nothing is refused here: who may steal was arbitrated where the session's clients connect
 * (`port-locks.ts`), and after a reconnect the new link may be here before the old one has ended. What comes through
 * the session's latest link wins; a dead one that still does what it was told, such as subscribing with an agent that
 * is new, takes nothing from it.
 */

/**
 * What a client wants when another session is in the way (connect parameter `on_concurrent_steal`, operator-api.md
 * §7.8).
 */
export type ConcurrentSteal = "abort" | "override" | "continue"

/** One connection to the agent, in the service of one client. */
export interface AgentClient {
  readonly connection: ConnectionName
  readonly session: string
  /** Which of all clients' links this one serves: later links have higher numbers. */
  readonly link: number
  readonly policy: ConcurrentSteal
}

interface PortState {
  readonly holders: ReadonlyMap<
    ConnectionName,
    { readonly session: string; readonly link: number; readonly claim: Claim }
  >
  /**
   * Sessions that were closed for the port by `override`. They may not take it back the same way, or two of them would
   * do so for ever.
   */
  readonly losers: ReadonlySet<string>
}

/** Ports that nobody steals are not in it. */
export type AgentLocks = ReadonlyMap<number, PortState>

export const noAgentLocks: AgentLocks = new Map()

export type AgentClaimed =
  | { readonly _tag: "Refused" }
  /** A later link of the session has it. The agent must not be asked; the client may think that it has the port. */
  | { readonly _tag: "Superseded" }
  /**
   * The agent may be asked. It silently gives nothing of this port any more to the `evicted` connections of other
   * sessions.
   */
  | { readonly _tag: "Granted"; readonly evicted: ReadonlyArray<ConnectionName> }

const nothing: PortState = { holders: new Map(), losers: new Set() }

export const claimOnAgent = (
  locks: AgentLocks,
  { connection, link, policy, session }: AgentClient,
  port: number,
  claim: Claim
): readonly [AgentLocks, AgentClaimed] => {
  const { holders, losers } = locks.get(port) ?? nothing
  const inTheWay = [...holders].filter(
    ([holder, holding]) => holder !== connection && (claim === "whole" || holding.claim === "whole")
  )
  const others = inTheWay.filter(([, holding]) => holding.session !== session)
  if (inTheWay.some(([, holding]) => holding.session === session && holding.link > link))
    return [locks, { _tag: "Superseded" }]
  const isRefused = policy === "abort" || (policy === "override" && losers.has(session))
  if (others.length > 0 && isRefused) return [locks, { _tag: "Refused" }]
  const left = new Map(holders)
  for (const [holder] of inTheWay) left.delete(holder)
  const lost = policy === "override" ? [...losers, ...others.map(([, holding]) => holding.session)] : losers
  const next: PortState = { holders: left.set(connection, { session, link, claim }), losers: new Set(lost) }
  return [new Map(locks).set(port, next), { _tag: "Granted", evicted: others.map(([holder]) => holder) }]
}

/** Releasing what is not held is no error. */
export const releaseOnAgent = (locks: AgentLocks, connection: ConnectionName, port: number): AgentLocks => {
  const state = locks.get(port)
  if (state === undefined || !state.holders.has(connection)) return locks
  const holders = new Map(state.holders)
  holders.delete(connection)
  const next = new Map(locks)
  if (holders.size === 0) next.delete(port)
  else next.set(port, { ...state, holders })
  return next
}

/** The connection has ended. */
export const leaveAgent = (locks: AgentLocks, connection: ConnectionName): AgentLocks =>
  [...locks.keys()].reduce((left, port) => releaseOnAgent(left, connection, port), locks)
