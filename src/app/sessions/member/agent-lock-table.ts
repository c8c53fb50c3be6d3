/**
 * Guards the ports of this cluster's agents, which sessions share: stands between a connection and its agent, and
 * answers in the agent's place when another session's claim excludes a request. `agent-locks.ts` decides which claims
 * exclude each other.
 */

import { clientMessage } from "../../../domain/protocol/client-message.ts"
import { type DaemonMessage, daemonMessage } from "../../../domain/protocol/daemon-message.ts"
import { peekDaemon } from "../../../domain/protocol/peek.ts"
import {
  type AgentClient,
  type AgentLocks,
  claimOnAgent,
  type ConcurrentSteal,
  leaveAgent,
  noAgentLocks,
  releaseOnAgent
} from "../../../domain/relay/agent-locks.ts"
import { alreadyStolen, type ConnectionName, connectionName, readSteal } from "../../../domain/relay/port-locks.ts"
import type { FrameChannel, FrameHandlers } from "../../../ports/frame-channel.ts"
import { passedOn } from "../../kernel/guarded-channel.ts"

/** The session and the link for which a connection to an agent steals ports. */
export interface AgentUser {
  /** The session's name in this cluster. */
  readonly session: string
  /** Later links have higher numbers. */
  readonly link: number
  readonly policy: ConcurrentSteal
}

/** The watch over what the agent of a connection confirms. */
export interface Confirmations {
  /** How many rounds the watch over the agent has had. */
  readonly rounds: () => number
  /**
   * Called at each of the agent's answers to a ping with the oldest port that it has not confirmed, and with the rounds
   * when it was asked for that port.
   */
  readonly unconfirmed: (port: number, since: number) => void
}

export interface AgentLockTable {
  /**
   * Guards the connection to an agent, for one user. A steal that another session excludes does not reach the agent:
   * the channel answers in its place, as an agent with locks would. A session that loses a port to another session
   * hears of it on its own channel.
   */
  readonly guard: (agent: string, channel: FrameChannel, user: AgentUser, confirmations: Confirmations) => FrameChannel
  /** For leak checks: the sum of guarded connections, agents with locks and ports with requests under way. */
  readonly size: () => number
}

const takenAway = (port: number, policy: ConcurrentSteal): DaemonMessage => {
  const message = `another session has taken port ${port} (on_concurrent_steal=${policy})`
  // Under `continue` the loser lives on and can only be told; `override` ends the session that is in the way (agent.md
  // §6.3).
  return policy === "override"
    ? { _tag: "Close", value: message }
    : {
        _tag: "LogMessage",
        value: { message: `${message}; this session gets nothing from it any more`, level: { _tag: "Warn" } }
      }
}

const hasPort = (port: number): DaemonMessage => ({
  _tag: "TcpSteal",
  value: { _tag: "SubscribeResult", value: { _tag: "Ok", value: port } }
})

/** State that all guarded connections share. */
interface TableState {
  /** The holders of ports, by agent; an agent without locks has no entry. */
  readonly agents: Map<string, AgentLocks>
  /** The functions that send a message to an open connection, by the connection's name. */
  readonly listeners: Map<ConnectionName, (message: DaemonMessage) => void>
  /** How many connections there have been; numbers them. */
  connections: number
  /**
   * By agent and port: requests that wait until the agent has answered the request before them. The agent answers its
   * clients in any order, and the request that it handles last wins.
   */
  readonly asked: Map<string, Array<() => void>>
}

interface OwedAnswer {
  /** Agent and port, see {@link TableState.asked}. */
  readonly key: string
  readonly port: number
  /** The rounds of the watch when the agent was asked. */
  readonly since: number
}

/** One connection to an agent. */
interface GuardedConnection {
  readonly table: TableState
  readonly agent: string
  /** The connection itself, behind the guard. */
  readonly channel: FrameChannel
  readonly client: AgentClient
  /** The router's side, once it listens. */
  handlers: FrameHandlers | undefined
  /** Messages to the router from before it listened. */
  readonly early: Array<DaemonMessage>
  /** Requests that the agent has not answered, in order. */
  readonly owed: Array<OwedAnswer>
  readonly confirmations: Confirmations
  /** The latest request for each port: a request that had to wait may be out of date when its turn comes. */
  readonly wanted: Map<number, object>
}

export const makeAgentLockTable = (): AgentLockTable => {
  const table: TableState = { agents: new Map(), listeners: new Map(), connections: 0, asked: new Map() }
  return {
    size: () => table.listeners.size + table.agents.size + table.asked.size,
    guard: (agent, channel, user, confirmations) => {
      const connection = connectionName(`connection ${++table.connections}`)
      const guarded: GuardedConnection = {
        table,
        agent,
        channel,
        client: { ...user, connection },
        handlers: undefined,
        early: [],
        owed: [],
        confirmations,
        wanted: new Map()
      }
      table.listeners.set(connection, (message) => say(guarded, message))
      return guardedChannel(guarded)
    }
  }
}

const guardedChannel = (guarded: GuardedConnection): FrameChannel => {
  const { channel } = guarded
  return {
    ...passedOn(channel),
    send: (bytes) => send(guarded, bytes),
    close: () => {
      leave(guarded)
      channel.close()
    },
    open: (handlers) => open(guarded, handlers)
  }
}

const locksOf = ({ agent, table }: GuardedConnection): AgentLocks => table.agents.get(agent) ?? noAgentLocks

const setLocks = ({ agent, table }: GuardedConnection, locks: AgentLocks): void => {
  if (locks.size === 0) table.agents.delete(agent)
  else table.agents.set(agent, locks)
}

/** Sends a message to the router in the agent's name. */
const say = (guarded: GuardedConnection, message: DaemonMessage): void => {
  if (guarded.handlers === undefined) guarded.early.push(message)
  else guarded.handlers.message(daemonMessage.encode(message))
}

/**
 * Answers a request that does not reach the agent; no other function does so. A superseded request is answered with
 * success, because its client may go on believing that it has the port.
 */
const answerForAgent = (guarded: GuardedConnection, port: number, why: "Refused" | "Superseded"): void =>
  say(guarded, why === "Refused" ? alreadyStolen(port) : hasPort(port))

// Towards the agent

const send = (guarded: GuardedConnection, bytes: Uint8Array): void => {
  const { channel, client, table, wanted } = guarded
  const steal = readSteal(bytes)
  if (steal === undefined || !table.listeners.has(client.connection)) return channel.send(bytes)
  const { claim, port } = steal
  if (claim === undefined) {
    wanted.delete(port)
    setLocks(guarded, releaseOnAgent(locksOf(guarded), client.connection, port))
    return channel.send(bytes)
  }
  const [locks, claimed] = claimOnAgent(locksOf(guarded), client, port, claim)
  setLocks(guarded, locks)
  switch (claimed._tag) {
    case "Refused":
      giveBack(guarded, port)
      return answerForAgent(guarded, port, "Refused")
    case "Superseded":
      return answerForAgent(guarded, port, "Superseded")
    case "Granted":
      ask(guarded, port, bytes)
      for (const evicted of claimed.evicted) table.listeners.get(evicted)?.(takenAway(port, client.policy))
  }
}

/** Gives up a refused connection's earlier claim to the port: after a refusal the router believes that it has none. */
const giveBack = (guarded: GuardedConnection, port: number): void => {
  const left = releaseOnAgent(locksOf(guarded), guarded.client.connection, port)
  if (left !== locksOf(guarded)) {
    guarded.channel.send(clientMessage.encode({ _tag: "TcpSteal", value: { _tag: "PortUnsubscribe", value: port } }))
  }
  setLocks(guarded, left)
}

/** Asks the agent for a port as soon as it has answered all earlier requests for this port. */
const ask = (guarded: GuardedConnection, port: number, bytes: Uint8Array): void => {
  const { agent, channel, client, confirmations, owed, table, wanted } = guarded
  const key = `${agent} ${port}`
  const wish = {}
  wanted.set(port, wish)
  inTurn(table, key, () => {
    if (table.listeners.has(client.connection) && wanted.get(port) === wish) {
      owed.push({ key, port, since: confirmations.rounds() })
      return channel.send(bytes)
    }
    answerForAgent(guarded, port, "Superseded")
    answered(table, key)
  })
}

const inTurn = ({ asked }: TableState, key: string, act: () => void): void => {
  const waiting = asked.get(key)
  if (waiting !== undefined) return void waiting.push(act)
  asked.set(key, [])
  act()
}

const answered = ({ asked }: TableState, key: string): void => {
  const next = asked.get(key)?.shift()
  if (next === undefined) asked.delete(key)
  else next()
}

// From the agent

const open = (guarded: GuardedConnection, handlers: FrameHandlers): void => {
  guarded.channel.open({
    ...handlers,
    message: (bytes) => {
      const over = answeredBy(guarded, bytes)
      handlers.message(bytes)
      for (const { key } of over) answered(guarded.table, key)
    },
    ended: (reason) => {
      leave(guarded)
      handlers.ended(reason)
    }
  })
  guarded.handlers = handlers
  for (const message of guarded.early.splice(0)) say(guarded, message)
}

/**
 * Removes and returns the requests that a frame of the agent answers. The agent answers the requests of one client in
 * their order, and sends `Close` when it can serve none of them.
 */
const answeredBy = (guarded: GuardedConnection, bytes: Uint8Array): ReadonlyArray<OwedAnswer> => {
  const { owed } = guarded
  switch (peekDaemon(bytes)) {
    case "Pong":
      if (owed[0] !== undefined) guarded.confirmations.unconfirmed(owed[0].port, owed[0].since)
      return []
    case "TcpSteal.SubscribeResult":
      return owed.splice(0, 1)
    case "Close":
      return owed.splice(0)
    default:
      return []
  }
}

const leave = (guarded: GuardedConnection): void => {
  const { client, owed, table } = guarded
  table.listeners.delete(client.connection)
  for (const { key } of owed.splice(0)) answered(table, key)
  setLocks(guarded, leaveAgent(locksOf(guarded), client.connection))
}
