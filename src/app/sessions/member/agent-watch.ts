/**
 * Holds agents by idle connections, and watches by pings on them whether the agents still answer. All connections of
 * this operator to one agent share one watch: that an agent hangs is a fact about the agent, and it is given up once.
 *
 * Decides nothing: `domain/sessions/agent-health.ts` judges an agent, and `session-agents.ts` acts for a session.
 */

import { Clock, Effect, FiberMap, type Scope } from "effect"
import { quotation } from "../../../domain/clean-text.ts"
import { clientMessage } from "../../../domain/protocol/client-message.ts"
import { daemonMessage } from "../../../domain/protocol/daemon-message.ts"
import { steadyAfter } from "../../../domain/sessions/agent-end.ts"
import {
  type AgentHealth,
  type AgentWatch,
  answersWithin,
  type ConnectionEnd,
  endedConnection,
  healthOf,
  heardAgent,
  leftPortOpen,
  lookedAtPod,
  newWatch,
  nextRound,
  type AgentPodState,
  roundEvery
} from "../../../domain/sessions/agent-health.ts"
import { type AgentHandle, type Agents, AgentUnreachable } from "../../../ports/agents.ts"
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
  /** Gives the watch the agent's words on another connection as a part of the agent failed. */
  readonly failed: (why: string) => void
  /** How many rounds the watch has had. */
  readonly rounds: () => number
  /** Gives the watch a port that the agent has not confirmed, on another connection, since so many rounds. */
  readonly leftPortOpen: (port: number, since: number) => void
  /** Gives the watch the API server's report on the pod that the agent works on. */
  readonly lookedAtPod: (pod: AgentPodState) => void
  /**
   * Joins the watch, and completes with the agent's first word on this connection: a hung agent takes connections too,
   * and no session may be called ready for it. Run once, and before `follow`. Fails when the connection ends, when the
   * watch gives the agent up, and after as much time as a silent agent has.
   */
  readonly greet: Effect.Effect<void, AgentUnreachable>
  /** Reports what happens to the agent from now on, and what has happened since it answered. Called once. */
  readonly follow: (news: HoldNews) => void
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
  /** Called when the health has changed, by open connection, in the order in which they are used for pings. */
  readonly holds: Map<FrameChannel, () => void>
}

interface WatchesState {
  /** Epoch ms. */
  readonly now: () => number
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

/** Takes the next state of a watch, and notifies all holders if the agent's health has changed. */
const update = (state: WatchesState, watched: Watched, watch: AgentWatch): void => {
  const before = healthOf(watched.watch)
  watched.watch = watch
  const now = healthOf(watch)
  if (now._tag === before._tag) return
  // First, so that no session that starts over finds the old agent.
  if (now._tag === "Lost") state.run(`give up ${watched.agent.uid}`, giveUp(state, watched, now.why))
  for (const changed of [...watched.holds.values()]) changed()
}

/** Pings over the connection that was used longest ago. */
const ask = ({ holds }: Watched): void => {
  const [oldest] = holds
  if (oldest === undefined) return
  const [channel, changed] = oldest
  holds.delete(channel)
  holds.set(channel, changed)
  channel.send(ping)
}

/** The rounds of a watch, until no client has held the agent for a while. */
const rounds = Effect.fnUntraced(function* (state: WatchesState, watched: Watched): Effect.fn.Return<void> {
  for (let unheld = 0; unheld < (watched.watch.isAsked ? silenceKeptRounds : keptRounds);) {
    yield* Effect.sleep(roundEvery)
    unheld = watched.holds.size === 0 ? unheld + 1 : 0
    if (unheld > 0) continue
    update(state, watched, nextRound(watched.watch))
    ask(watched)
  }
  state.watched.delete(watched.agent.uid)
})

/** The watch over an agent, which begins with the first connection that joins it. */
const watchedOf = (state: WatchesState, agent: AgentHandle): Watched => {
  const known = state.watched.get(agent.uid)
  if (known !== undefined) return known
  const made: Watched = { agent, watch: newWatch, holds: new Map() }
  state.watched.set(agent.uid, made)
  state.run(agent.uid, rounds(state, made))
  return made
}

/** One connection that holds an agent. */
interface HoldState {
  readonly agent: AgentHandle
  readonly channel: FrameChannel
  /** From the greeting on. */
  watched: Watched | undefined
  /** Ends the greeting: with nothing when the agent has answered, otherwise with what happened. */
  greeted: (failure: string | undefined) => void
  /** From {@link AgentHold.follow} on. */
  news: HoldNews | undefined
  /** When the connection was used first, epoch ms. */
  openedAt: number
  /** Why the connection has ended, if it has. */
  ended: string | undefined
  isClosed: boolean
}

const leave = ({ channel, watched }: HoldState): void => void watched?.holds.delete(channel)

const holdHealth = ({ watched }: HoldState): AgentHealth => healthOf(watched?.watch ?? newWatch)

/** Ends the greeting if the agent was given up. */
const giveUpGreeting = (hold: HoldState): void => {
  const health = holdHealth(hold)
  if (health._tag === "Lost") hold.greeted(health.why)
}

/** Handles the end of a connection by its agent; `close`: what the agent says of it. */
const endedByAgent = (
  state: WatchesState,
  hold: HoldState,
  watched: Watched,
  { close, reason }: Pick<ConnectionEnd, "close" | "reason">
): void => {
  if (hold.ended !== undefined) return
  leave(hold)
  hold.ended = reason
  const isEarly = state.now() - hold.openedAt < steadyAfter
  // First, so that no session that starts over finds an agent that has to be replaced.
  update(state, watched, endedConnection(watched.watch, { close, reason, isEarly }))
  hold.greeted(close === undefined ? `the connection ended before the agent answered: ${reason}` : `it says: ${close}`)
  if (isEarly && holdHealth(hold)._tag === "Lost") hold.news?.changed()
  else hold.news?.ended()
}

/** The words with which an agent ends a connection. */
const closeOf = (bytes: Uint8Array): string | undefined => {
  const read = daemonMessage.decode(bytes)
  return read._tag === "Decoded" && read.value._tag === "Close" ? quotation(read.value.value) : undefined
}

/** Joins the watch and asks the agent over this very connection. */
const join = (state: WatchesState, hold: HoldState): void => {
  const watched = watchedOf(state, hold.agent)
  const { channel } = hold
  hold.watched = watched
  hold.openedAt = state.now()
  watched.holds.set(channel, () => {
    giveUpGreeting(hold)
    hold.news?.changed()
  })
  channel.open({
    message: (bytes) => {
      const close = closeOf(bytes)
      if (close !== undefined) {
        endedByAgent(state, hold, watched, { close, reason: close })
        return channel.close()
      }
      update(state, watched, heardAgent(watched.watch))
      hold.greeted(undefined)
    },
    ended: (reason) => endedByAgent(state, hold, watched, { close: undefined, reason }),
    drained: () => {},
    ignored: () => {}
  })
  channel.send(ping)
  giveUpGreeting(hold)
}

const greeting = (state: WatchesState, hold: HoldState): Effect.Effect<void, AgentUnreachable> => {
  const unreachable = (detail: string) => Effect.fail(new AgentUnreachable({ agent: hold.agent.name, detail }))
  return Effect.callback<void, AgentUnreachable>((resume) => {
    hold.greeted = (failure) => resume(failure === undefined ? Effect.void : unreachable(failure))
    join(state, hold)
  }).pipe(
    // The agent may answer on other connections all the while.
    Effect.timeoutOrElse({
      duration: answersWithin,
      orElse: () => unreachable("it does not answer on a new connection")
    }),
    Effect.ensuring(
      Effect.sync(() => {
        hold.greeted = () => {}
      })
    )
  )
}

const makeHold = (state: WatchesState, agent: AgentHandle, channel: FrameChannel): AgentHold => {
  const hold: HoldState = {
    agent,
    channel,
    watched: undefined,
    greeted: () => {},
    news: undefined,
    openedAt: 0,
    ended: undefined,
    isClosed: false
  }
  return {
    health: () => holdHealth(hold),
    failed: (why) => {
      const { watched } = hold
      const end = { close: why, reason: why, isEarly: false }
      if (watched !== undefined) update(state, watched, endedConnection(watched.watch, end))
    },
    rounds: () => hold.watched?.watch.rounds ?? 0,
    leftPortOpen: (port, since) => {
      if (hold.watched !== undefined) update(state, hold.watched, leftPortOpen(hold.watched.watch, port, since))
    },
    lookedAtPod: (pod) => {
      if (hold.watched !== undefined) update(state, hold.watched, lookedAtPod(hold.watched.watch, pod))
    },
    greet: greeting(state, hold),
    follow: (news) => {
      if (hold.isClosed) return
      hold.news = news
      // It was given up while other agents of the session were still being started.
      if (holdHealth(hold)._tag === "Lost") news.changed()
      else if (hold.ended !== undefined) news.ended()
    },
    close: () => {
      hold.isClosed = true
      hold.news = undefined
      leave(hold)
      channel.close()
    }
  }
}

/** Watches over agents, for as long as the scope lives. */
export const makeAgentWatches = Effect.fnUntraced(function* (
  agents: Agents["Service"]
): Effect.fn.Return<AgentWatches, never, Scope.Scope> {
  const tasks = yield* FiberMap.make<string>()
  const clock = yield* Clock.Clock
  const state: WatchesState = {
    now: () => clock.currentTimeMillisUnsafe(),
    agents,
    watched: new Map(),
    run: yield* FiberMap.runtime(tasks)<never>()
  }
  yield* countHolding("watched agents", () => state.watched.size)
  return { hold: (agent, channel) => makeHold(state, agent, channel) }
})
