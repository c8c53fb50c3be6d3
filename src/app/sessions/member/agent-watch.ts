/**
 * Holds agents by idle connections, and watches by pings on them whether the agents still answer. All connections of
 * this operator to one agent share one watch: that an agent hangs is a fact about the agent, and it is given up once.
 *
 * Decides nothing: `domain/session/agent-health.ts` judges an agent, and `session-agents.ts` acts for a session.
 */

import { Effect, FiberMap, type Scope } from "effect"
import { clientMessage } from "../../../domain/protocol/client-message.ts"
import {
  type AgentHealth,
  type AgentWatch,
  healthOf,
  heardAgent,
  lookedAtPod,
  newWatch,
  nextRound,
  type PodSign,
  roundEvery
} from "../../../domain/session/agent-health.ts"
import type { AgentHandle, Agents } from "../../../ports/agents.ts"
import type { FrameChannel } from "../../../ports/frame-channel.ts"
import { countHolding } from "../../kernel/holdings.ts"
import { logWarning } from "../../kernel/log.ts"

/** News of an agent for a session that holds it. */
interface HoldNews {
  /** The agent's health has another tag now. */
  readonly changed: () => void
  /** The connection has ended, and with it most likely the agent. Never called after `close`. */
  readonly ended: () => void
}

/** An idle connection that keeps an agent: an agent without any client exits (agent.md §3.4). */
export interface AgentHold {
  readonly health: () => AgentHealth
  /** Tells the watch what the API server said of the pod that the agent works on. */
  readonly lookedAtPod: (sign: PodSign) => void
  /** Joins the watch. Called once; after `close` it does nothing. */
  readonly open: (news: HoldNews) => void
  /** Leaves the watch and closes the connection. */
  readonly close: () => void
}

export interface AgentWatches {
  /** Makes a connection to an agent hold that agent. */
  readonly hold: (agent: AgentHandle, channel: FrameChannel) => AgentHold
}

/** An agent that is held. */
interface Watched {
  readonly agent: AgentHandle
  watch: AgentWatch
  /** The open connections, in the order in which they are used for pings. */
  readonly holds: Map<FrameChannel, HoldNews>
}

interface WatchesState {
  readonly agents: Agents["Service"]
  /** By the agents' uid. */
  readonly watched: Map<string, Watched>
  /** Begins a task; replaces a running task of the same key. */
  readonly run: (task: string, effect: Effect.Effect<void>) => unknown
}

/**
 * Rounds for which a watch is kept after its last connection. A session that starts over leaves its agents for a
 * moment, or for the pause after a failed attempt (child-plan.ts), and their silence must not be forgotten meanwhile.
 */
const keptRounds = 2
/** The same for an agent that has not answered since it was asked: longer than the longest pause. */
const silenceKeptRounds = 40

const ping = clientMessage.encode({ _tag: "Ping" })

const giveUp = ({ agents }: WatchesState, { agent }: Watched, why: string): Effect.Effect<void> =>
  logWarning("agent given up", { agent: agent.name, host: agent.host, reason: why }).pipe(
    Effect.andThen(agents.giveUp(agent)),
    Effect.catch(({ detail }) => logWarning("agent not ended", { agent: agent.name, problem: detail }))
  )

/** Takes the next state of a watch, and tells everybody if the agent's health is another one now. */
const update = (state: WatchesState, watched: Watched, watch: AgentWatch): void => {
  const before = healthOf(watched.watch)
  watched.watch = watch
  const now = healthOf(watch)
  if (now._tag === before._tag) return
  // First, so that no session that starts over finds the old agent.
  if (now._tag === "Lost") state.run(`give up ${watched.agent.uid}`, giveUp(state, watched, now.why))
  for (const { changed } of [...watched.holds.values()]) changed()
}

/** Pings over the connection that was used longest ago. */
const ask = ({ holds }: Watched): void => {
  const [oldest] = holds
  if (oldest === undefined) return
  const [channel, news] = oldest
  holds.delete(channel)
  holds.set(channel, news)
  channel.send(ping)
}

/** The rounds of a watch, until nobody has held the agent for a while. */
const rounds = (state: WatchesState, watched: Watched): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (let unheld = 0; unheld < (watched.watch.isAsked ? silenceKeptRounds : keptRounds);) {
      yield* Effect.sleep(roundEvery)
      unheld = watched.holds.size === 0 ? unheld + 1 : 0
      if (unheld > 0) continue
      update(state, watched, nextRound(watched.watch))
      ask(watched)
    }
    state.watched.delete(watched.agent.uid)
  })

const watchedOf = (state: WatchesState, agent: AgentHandle): Watched => {
  const known = state.watched.get(agent.uid)
  if (known !== undefined) return known
  const made: Watched = { agent, watch: newWatch, holds: new Map() }
  state.watched.set(agent.uid, made)
  state.run(agent.uid, rounds(state, made))
  return made
}

const makeHold = (state: WatchesState, agent: AgentHandle, channel: FrameChannel): AgentHold => {
  let watched: Watched | undefined
  let isClosed = false
  const leave = (): void => void watched?.holds.delete(channel)
  return {
    health: () => healthOf(watched?.watch ?? newWatch),
    lookedAtPod: (sign) => {
      if (watched !== undefined) update(state, watched, lookedAtPod(watched.watch, sign))
    },
    open: (news) => {
      if (isClosed) return
      const joined = watchedOf(state, agent)
      watched = joined
      joined.holds.set(channel, news)
      channel.open({
        message: () => update(state, joined, heardAgent(joined.watch)),
        ended: () => {
          leave()
          news.ended()
        },
        drained: () => {},
        ignored: () => {}
      })
      // It was given up while this connection was made.
      if (healthOf(joined.watch)._tag === "Lost" && joined.holds.has(channel)) news.changed()
    },
    close: () => {
      isClosed = true
      leave()
      channel.close()
    }
  }
}

/** Watches over agents, for as long as the scope lives. */
export const makeAgentWatches = (agents: Agents["Service"]): Effect.Effect<AgentWatches, never, Scope.Scope> =>
  Effect.gen(function* () {
    const tasks = yield* FiberMap.make<string>()
    const state: WatchesState = { agents, watched: new Map(), run: yield* FiberMap.runtime(tasks)<never>() }
    yield* countHolding("watched agents", () => state.watched.size)
    return { hold: (agent, channel) => makeHold(state, agent, channel) }
  })
