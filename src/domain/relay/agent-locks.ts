/**
 * Which connection to one agent steals which port, over all sessions. Agents are shared, and of two subscriptions that
 * exclude each other an agent silently evicts the earlier one (wire.md §7.7). So the operator decides before it asks
 * the agent, by the agent's own rule (agent.md §6.1, §6.2): a port is stolen whole by one connection, or with filters
 * by any number.
 *
 * Not here: the ports of one session's clients (port-locks.ts).
 */

import type { Claim, ConnectionName } from "./port-locks.ts"

/**
 * The client's wish when another session is in the way (connect parameter `on_concurrent_steal`, operator-api.md §7.8).
 */
export type ConcurrentSteal = "abort" | "override" | "continue"

/** One connection to the agent, in the service of one client. */
export interface AgentClient {
  readonly connection: ConnectionName
  readonly session: string
  /** Number of the link that this connection serves. Over all clients, later links have higher numbers. */
  readonly link: number
  readonly policy: ConcurrentSteal
}

interface PortState {
  readonly holders: ReadonlyMap<
    ConnectionName,
    { readonly session: string; readonly link: number; readonly claim: Claim }
  >
  /**
   * Sessions that lost the port to an `override`. They may not take it back by `override`, or two sessions would evict
   * each other for ever.
   */
  readonly losers: ReadonlySet<string>
}

/** By port. A port that is not stolen has no entry. */
export type AgentLocks = ReadonlyMap<number, PortState>

export const noAgentLocks: AgentLocks = new Map()

export type AgentClaimed =
  | { readonly _tag: "Refused" }
  /**
   * A later link of the session has the port. The agent must not be asked; the client may believe that it has the port.
   */
  | { readonly _tag: "Superseded" }
  /**
   * The agent may be asked. From then on it silently gives nothing of this port to the `evicted` connections of other
   * sessions.
   */
  | { readonly _tag: "Granted"; readonly evicted: ReadonlyArray<ConnectionName> }

const nothing: PortState = { holders: new Map(), losers: new Set() }

/**
 * Decides about a subscription to steal. Nothing is refused within a session: the operator that the session's clients
 * connect to has decided already (port-locks.ts). After a reconnect the session's new link may arrive before the old
 * link has ended, so the latest link wins. A dead link may still act, for example subscribe with an agent that is new,
 * but it takes no port from a later link.
 */
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
