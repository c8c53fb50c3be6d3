/**
 * The ports of this cluster's agents, shared by its sessions: stands between a connection and its agent, and answers in
 * the agent's place what another session excludes. Which claims exclude each other is decided in `agent-locks.ts`.
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
} from "../../../domain/routing/agent-locks.ts"
import { alreadyStolen, type ConnectionName, connectionName, readSteal } from "../../../domain/routing/port-locks.ts"
import type { FrameChannel, FrameHandlers } from "../../../ports/frame-channel.ts"

/** Who wants to steal through a connection to an agent. */
export interface AgentUser {
  /** The session's name in this cluster. */
  readonly session: string
  /** Later links have higher numbers. */
  readonly link: number
  readonly policy: ConcurrentSteal
}

export interface AgentLockTable {
  /**
   * The connection to an agent, for one user. A steal that another session excludes does not reach the agent: the
   * channel answers in its place, as an agent with locks would. Who loses a port to another session hears of it on its
   * own channel.
   */
  readonly guard: (agent: string, channel: FrameChannel, user: AgentUser) => FrameChannel
  /** How many connections it guards, agents have locks, and agents' ports have requests. */
  readonly size: () => number
}

const takenAway = (port: number, policy: ConcurrentSteal): DaemonMessage => {
  const message = `another session has taken port ${port} (on_concurrent_steal=${policy})`
  // To be told is all that somebody can do about `continue`; `override` ends the session that is in the way
  // (agent.md §6.3).
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

/** What all guarded connections share. */
interface TableState {
  /** Who has which port, by agent; agents without locks are not in it. */
  readonly agents: Map<string, AgentLocks>
  /** How the connections that are open are told something, by name. */
  readonly listeners: Map<ConnectionName, (message: DaemonMessage) => void>
  /** How many connections there have been. */
  connections: number
  /**
   * By agent and port: requests that wait until the agent has answered the one before. It answers its clients in no
   * order, and what it does last is what holds.
   */
  readonly asked: Map<string, Array<() => void>>
}

/** One connection to an agent. */
interface GuardedConnection {
  readonly table: TableState
  readonly agent: string
  /** The connection itself, behind the guard. */
  readonly channel: FrameChannel
  readonly client: AgentClient
  /** The side of the router, once it listens. */
  handlers: FrameHandlers | undefined
  /** Said before anybody listened. */
  readonly early: Array<DaemonMessage>
  /** Requests that the agent has not answered, by agent and port, in order. */
  readonly owed: Array<string>
  /** The latest request for each port: one that waited may be out of date when its turn comes. */
  readonly wanted: Map<number, object>
}

export const makeAgentLockTable = (): AgentLockTable => {
  const table: TableState = { agents: new Map(), listeners: new Map(), connections: 0, asked: new Map() }
  return {
    size: () => table.listeners.size + table.agents.size + table.asked.size,
    guard: (agent, channel, user) => {
      const connection = connectionName(`connection ${++table.connections}`)
      const guarded: GuardedConnection = {
        table,
        agent,
        channel,
        client: { ...user, connection },
        handlers: undefined,
        early: [],
        owed: [],
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
    queuedBytes: () => channel.queuedBytes(),
    pause: () => channel.pause(),
    resume: () => channel.resume(),
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

/** A message to the router in the name of the agent. */
const say = (guarded: GuardedConnection, message: DaemonMessage): void => {
  if (guarded.handlers === undefined) guarded.early.push(message)
  else guarded.handlers.message(daemonMessage.encode(message))
}

/**
 * The only place where a request is answered that the agent does not get. `Superseded`: the client may think that it
 * has the port.
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

/** What a refused connection had of the port until now is over for the router too. */
const giveBack = (guarded: GuardedConnection, port: number): void => {
  const left = releaseOnAgent(locksOf(guarded), guarded.client.connection, port)
  if (left !== locksOf(guarded)) {
    guarded.channel.send(clientMessage.encode({ _tag: "TcpSteal", value: { _tag: "PortUnsubscribe", value: port } }))
  }
  setLocks(guarded, left)
}

/** Asks the agent for a port as soon as it has answered everybody who asked before. */
const ask = (guarded: GuardedConnection, port: number, bytes: Uint8Array): void => {
  const { agent, channel, client, owed, table, wanted } = guarded
  const key = `${agent} ${port}`
  const wish = {}
  wanted.set(port, wish)
  inTurn(table, key, () => {
    if (table.listeners.has(client.connection) && wanted.get(port) === wish) {
      owed.push(key)
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
      for (const key of over) answered(guarded.table, key)
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
 * Takes the requests that a frame of the agent answers: it answers those of one client in their order, and refuses what
 * it cannot do at all by `Close`.
 */
const answeredBy = ({ owed }: GuardedConnection, bytes: Uint8Array): ReadonlyArray<string> => {
  switch (peekDaemon(bytes)) {
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
  for (const key of owed.splice(0)) answered(table, key)
  setLocks(guarded, leaveAgent(locksOf(guarded), client.connection))
}
