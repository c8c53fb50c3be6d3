/**
 * Starts the agents of sessions, keeps them alive by idle connections, and notices when they end. The decision when to
 * start and refresh them is made in `domain/session/child-plan.ts`; the adapters of `Agents` know how an agent is
 * built.
 */

import { Clock, Effect, Result } from "effect"
import { mirrordClusterSessions } from "../../../domain/resources/mirrord-cluster-session.ts"
import type { OwnerReference } from "../../../domain/resources/object-meta.ts"
import { apiVersionOf } from "../../../domain/resources/resource-descriptor.ts"
import { refreshEvery } from "../../../domain/session/child-plan.ts"
import type { SessionFailure } from "../../../domain/session/session-failure.ts"
import type { AgentPlacement } from "../../../domain/target/pod-choice.ts"
import type { AgentFailed, AgentUnreachable } from "../../../ports/agents.ts"
import type { FrameChannel } from "../../../ports/frame-channel.ts"
import { logError, logWarning } from "../../kernel/log.ts"
import { retrying } from "../../kernel/retrying-api.ts"
import {
  type ChildTurn,
  type ClusterSessionState,
  failedAttempt,
  release,
  type RunningAgent,
  sessionChanged,
  type SessionState
} from "./session-state.ts"
import { type Placements, resolveTarget } from "./target-resolver.ts"

/** An agent that ends sooner than this after its start counts as failed, and its successor has to wait, in ms. */
const steadyAfter = 10_000

/** Pause before the target's pods are looked up again after an agent other than the representative ended, in ms. */
const lookAgainAfter = 2_000

/** Most agents of one session that are being started at a time. */
const startedAtOnce = 8

type StartedAgent = Result.Result<RunningAgent, AgentFailed | AgentUnreachable>

const endedAtOnce: SessionFailure = {
  reason: "Error",
  message: "its agent ended right after its start; `kubectl logs` of its pod says why"
}

/** Whether a task still works for the session that it was begun for. */
const isCurrent = ({ sessions }: ClusterSessionState, { key, known }: ChildTurn): boolean => sessions.get(key) === known

const failNow = (session: SessionState, failure: SessionFailure) =>
  Effect.map(Clock.currentTimeMillis, (at) => failedAttempt(session, failure, at))

/**
 * Handles the end of an agent. The end of the representative starts everything over: the target may have another pod
 * now.
 */
const agentEnded = (state: ClusterSessionState, turn: ChildTurn, agent: RunningAgent): void => {
  const { key: name, known: session } = turn
  if (!isCurrent(state, turn) || session.agent._tag !== "Ready" || !session.agents.includes(agent)) return
  const now = state.clock.currentTimeMillisUnsafe()
  const wasSteady = now - agent.startedAt >= steadyAfter
  if (session.agents[0] !== agent) {
    session.agents = session.agents.filter((other) => other !== agent)
    session.agent = { _tag: "Ready", checkedAt: wasSteady ? now - refreshEvery + lookAgainAfter : now }
  } else {
    release(session)
    if (wasSteady) {
      session.failures = 0
      session.target = { _tag: "Unresolved" }
      session.agent = { _tag: "None" }
    } else session.agent = failedAttempt(session, endedAtOnce, now)
  }
  sessionChanged(state, name)
}

const followAgent = (state: ClusterSessionState, turn: ChildTurn, agent: RunningAgent): void =>
  agent.hold.open({
    message: () => {},
    ended: () => agentEnded(state, turn, agent),
    drained: () => {},
    ignored: () => {}
  })

const ownerOf = ({ key: name, view }: ChildTurn): OwnerReference => ({
  apiVersion: apiVersionOf(mirrordClusterSessions),
  kind: mirrordClusterSessions.kind,
  name,
  uid: view.metadata.uid ?? ""
})

/** Starts one agent and connects to it. Each connection is added to `opened`. */
const startAgent = (
  { agents }: ClusterSessionState,
  turn: ChildTurn,
  placement: AgentPlacement | undefined,
  opened: Set<FrameChannel>
): Effect.Effect<StartedAgent> => {
  const owner = ownerOf(turn)
  const connected = Effect.gen(function* () {
    const handle = yield* agents.ensure(placement, owner)
    const hold = yield* Effect.tap(agents.connect(handle), (channel) => Effect.sync(() => opened.add(channel)))
    return { hold, handle }
  })
  return Effect.gen(function* () {
    // An agent that cannot be reached may have ended; the next try creates another agent in its place.
    const { handle, hold } = yield* retrying(connected, (error) => error._tag === "AgentUnreachable")
    return {
      hold,
      handle,
      pod: placement?.podName ?? handle.name,
      containerId: placement?.containerId,
      startedAt: yield* Clock.currentTimeMillis
    }
  }).pipe(
    Effect.tapError((error) => logWarning("agent not started", { session: turn.key, problem: error.message })),
    Effect.result
  )
}

/**
 * Starts agents for a session; each result is an agent or the reason of its failure. An interruption closes every
 * connection that was opened.
 */
const startAll = (
  state: ClusterSessionState,
  turn: ChildTurn,
  placements: ReadonlyArray<AgentPlacement | undefined>
): Effect.Effect<ReadonlyArray<StartedAgent>> =>
  Effect.suspend(() => {
    const opened = new Set<FrameChannel>()
    const closeAll = Effect.sync(() => opened.forEach((hold) => hold.close()))
    return Effect.forEach(placements, (placement) => startAgent(state, turn, placement, opened), {
      concurrency: startedAtOnce
    }).pipe(
      Effect.onInterrupt(() => closeAll),
      Effect.tapDefect(() => closeAll)
    )
  })

const agentsOf = (results: ReadonlyArray<StartedAgent>): ReadonlyArray<RunningAgent> =>
  results.flatMap((result) => (Result.isSuccess(result) ? [result.success] : []))

const closeHolds = (agents: ReadonlyArray<RunningAgent>): void => {
  for (const { hold } of agents) hold.close()
}

/** Starts every agent of the session. The representative must come up; the session goes on without the others. */
const startSession = (state: ClusterSessionState, turn: ChildTurn, placements: Placements): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { key: name, known: session } = turn
    const results = yield* startAll(state, turn, placements.length === 0 ? [undefined] : placements)
    const [representative] = results
    const started = agentsOf(results)
    if (!isCurrent(state, turn) || representative === undefined || Result.isFailure(representative)) {
      closeHolds(started)
      const isFailed = representative !== undefined && Result.isFailure(representative)
      const message = isFailed ? representative.failure.message : "it is gone"
      session.agent = yield* failNow(session, { reason: "Error", message })
    } else {
      session.agents = started
      session.agent = { _tag: "Ready", checkedAt: yield* Clock.currentTimeMillis }
      for (const agent of started) followAgent(state, turn, agent)
    }
    sessionChanged(state, name)
  }).pipe(
    Effect.catchDefect((defect) =>
      Effect.gen(function* () {
        const { key: name, known: session } = turn
        yield* logError("agent not started", { session: name, defect: String(defect) })
        const message = "starting its agent failed; the operator's log says why"
        session.agent = yield* failNow(session, { reason: "Error", message })
        sessionChanged(state, name)
      })
    )
  )

/**
 * Starts the agents of a session. After a failure the target is looked up anew: its pod may have been replaced, or may
 * be gone.
 */
export const startAgents = (state: ClusterSessionState, turn: ChildTurn, placements: Placements): Effect.Effect<void> =>
  turn.known.failures === 0
    ? startSession(state, turn, placements)
    : Effect.matchEffect(resolveTarget(state.options.api, turn.view), {
        onSuccess: (found) => startSession(state, turn, found),
        onFailure: (failure) =>
          Effect.map(failNow(turn.known, failure), (failed) => {
            turn.known.target = failed
            turn.known.agent = { _tag: "None" }
            sessionChanged(state, turn.key)
          })
      })

/**
 * Starts agents next to new pods of the target. A failed look-up counts as no new pods; the next refresh looks again.
 */
export const refreshAgents = (state: ClusterSessionState, turn: ChildTurn): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { key: name, known: session, view } = turn
    const resolved = yield* Effect.result(resolveTarget(state.options.api, view))
    const found = Result.getOrElse(resolved, (): Placements => [])
    const served = new Set(session.agents.map(({ containerId }) => containerId))
    const missing = found.filter(({ containerId }) => !served.has(containerId))
    const started = agentsOf(yield* startAll(state, turn, missing))
    if (!isCurrent(state, turn) || session.agent._tag !== "Ready") return closeHolds(started)
    session.agents = [...session.agents, ...started]
    for (const agent of started) followAgent(state, turn, agent)
    if (started.length > 0) sessionChanged(state, name)
  }).pipe(
    Effect.catchDefect((defect) => logError("agents not refreshed", { session: turn.key, defect: String(defect) }))
  )

/** Looks up the pods of the session's target. */
export const lookUpTarget = (state: ClusterSessionState, { known, view }: ChildTurn): Effect.Effect<void> =>
  Effect.matchEffect(resolveTarget(state.retryingApi, view), {
    onSuccess: (placement) =>
      Effect.sync(() => {
        known.target = { _tag: "Resolved", placement }
      }),
    onFailure: (failure) =>
      Effect.map(failNow(known, failure), (failed) => {
        known.target = failed
      })
  })
