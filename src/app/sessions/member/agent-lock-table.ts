import { clientMessage } from "../../../domain/protocol/client-message.ts"
import { type DaemonMessage, daemonMessage } from "../../../domain/protocol/daemon-message.ts"
import {
  type AgentClaimed,
  type AgentClient,
  type AgentLocks,
  claimOnAgent,
  type ConcurrentSteal,
  leaveAgent,
  noAgentLocks,
  releaseOnAgent
} from "../../../domain/routing/agent-locks.ts"
import {
  alreadyStolen,
  type Claim,
  type ConnectionName,
  connectionName,
  readSteal
} from "../../../domain/routing/port-locks.ts"
import type { FrameChannel, FrameHandlers } from "../../../ports/frame-channel.ts"

/** Who wants to steal through a connection to an agent. */
export interface AgentUser {
  /** The session's name in this cluster. */
  readonly session: string
  /** Later links have higher numbers. */
  readonly link: number
  readonly policy: ConcurrentSteal
}

/** The ports of this cluster's agents, which several sessions may want (`domain/routing/agent-locks.ts`). */
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

export const makeAgentLockTable = (): AgentLockTable => {
  const agents = new Map<string, AgentLocks>()
  const listeners = new Map<ConnectionName, (message: DaemonMessage) => void>()
  let connections = 0

  /**
   * By agent and port: requests that wait until the agent has answered the one before. It answers its clients in no
   * order, and what it does last is what holds.
   */
  const asked = new Map<string, Array<() => void>>()
  const inTurn = (key: string, ask: () => void): void => {
    const waiting = asked.get(key)
    if (waiting !== undefined) return void waiting.push(ask)
    asked.set(key, [])
    ask()
  }
  const answered = (key: string): void => {
    const next = asked.get(key)?.shift()
    if (next === undefined) asked.delete(key)
    else next()
  }

  const set = (agent: string, locks: AgentLocks): void => {
    if (locks.size === 0) agents.delete(agent)
    else agents.set(agent, locks)
  }
  const locksOf = (agent: string): AgentLocks => agents.get(agent) ?? noAgentLocks

  const claimPort = (agent: string, client: AgentClient, port: number, claim: Claim): AgentClaimed => {
    const [locks, claimed] = claimOnAgent(locksOf(agent), client, port, claim)
    set(agent, locks)
    return claimed
  }

  return {
    size: () => listeners.size + agents.size + asked.size,
    guard: (agent, channel, user) => {
      const self = connectionName(`connection ${++connections}`)
      const client: AgentClient = { ...user, connection: self }
      let handlers: FrameHandlers | undefined
      /** Said before anybody listened. */
      const early: Array<DaemonMessage> = []
      const say = (message: DaemonMessage): void => {
        if (handlers === undefined) early.push(message)
        else handlers.message(daemonMessage.encode(message))
      }
      /** Requests of this connection that the agent has not answered, in order. */
      const owed: Array<string> = []
      /** What it wants of each port; a request that waited may be out of date when its turn comes. */
      const wanted = new Map<number, object>()
      const ask = (port: number, bytes: Uint8Array): void => {
        const key = `${agent} ${port}`
        const wish = {}
        wanted.set(port, wish)
        inTurn(key, () => {
          if (listeners.has(self) && wanted.get(port) === wish) {
            owed.push(key)
            return channel.send(bytes)
          }
          say(hasPort(port))
          answered(key)
        })
      }
      const leave = (): void => {
        listeners.delete(self)
        for (const key of owed.splice(0)) answered(key)
        set(agent, leaveAgent(locksOf(agent), self))
      }
      listeners.set(self, say)
      return {
        queuedBytes: () => channel.queuedBytes(),
        pause: () => channel.pause(),
        resume: () => channel.resume(),
        send: (bytes) => {
          const steal = readSteal(bytes)
          if (steal === undefined || !listeners.has(self)) return channel.send(bytes)
          const { claim, port } = steal
          if (claim === undefined) {
            wanted.delete(port)
            set(agent, releaseOnAgent(locksOf(agent), self, port))
            return channel.send(bytes)
          }
          const claimed = claimPort(agent, client, port, claim)
          if (claimed._tag === "Refused") {
            // What it had there until now is over for the router too.
            const rest = releaseOnAgent(locksOf(agent), self, port)
            if (rest !== locksOf(agent))
              channel.send(clientMessage.encode({ _tag: "TcpSteal", value: { _tag: "PortUnsubscribe", value: port } }))
            set(agent, rest)
            return say(alreadyStolen(port))
          }
          if (claimed._tag === "Superseded") return say(hasPort(port))
          ask(port, bytes)
          for (const evicted of claimed.evicted) listeners.get(evicted)?.(takenAway(port, user.policy))
        },
        close: () => {
          leave()
          channel.close()
        },
        open: (given) => {
          channel.open({
            ...given,
            message: (bytes) => {
              // TcpSteal, SubscribeResult, or Close (wire.md §1.5): an agent answers the requests of one client
              // in their order, and refuses what it cannot do at all by Close.
              const isResult = bytes[0] === 2 && bytes[1] === 3
              const over = isResult ? owed.splice(0, 1) : bytes[0] === 0 ? owed.splice(0) : []
              given.message(bytes)
              for (const key of over) answered(key)
            },
            ended: (reason) => {
              leave()
              given.ended(reason)
            }
          })
          handlers = given
          for (const message of early.splice(0)) say(message)
        }
      }
    }
  }
}
