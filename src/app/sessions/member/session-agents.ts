/**
 * Starts the agents of sessions, keeps them alive by idle connections, and notices when they end or are given up. The
 * decision when to start and refresh them is made in `domain/sessions/child-plan.ts`, and what follows their end in
 * `domain/sessions/agent-end.ts`; the adapters of `Agents` know how an agent is built.
 */

import { Clock, Effect, Result, Schedule } from "effect"
import { podLeftOutEvent } from "../../../domain/events/deed-events.ts"
import type { PortTls } from "../../../domain/policies/tls/tls-steal-rules.ts"
import { pods } from "../../../domain/resources/core-kinds.ts"
import { mirrordClusterSessions } from "../../../domain/resources/mirrord-cluster-session.ts"
import type { OwnerReference } from "../../../domain/resources/object-meta.ts"
import { apiVersionOf, readResource } from "../../../domain/resources/resource-descriptor.ts"
import type { SessionFailure } from "../../../domain/resources/session-failure.ts"
import { type AgentEnd, afterEnd, startingPlacements } from "../../../domain/sessions/agent-end.ts"
import { type AgentPodState, silent } from "../../../domain/sessions/agent-health.ts"
import { agentPodState } from "../../../domain/sessions/agent-pod-state.ts"
import { refreshEvery } from "../../../domain/sessions/child-plan.ts"
import { traceparentAnnotation } from "../../../domain/sessions/names.ts"
import { fromKubeTarget } from "../../../domain/targets/kube-target.ts"
import type { AgentPlacement } from "../../../domain/targets/pod-choice.ts"
import { protectedTarget } from "../../../domain/targets/protected-namespaces.ts"
import type { AgentFailed, AgentHandle, AgentUnreachable } from "../../../ports/agents.ts"
import { logError, logWarning } from "../../kernel/log.ts"
import { retrying } from "../../kernel/retrying-api.ts"
import { traced, traceEvent } from "../../kernel/tracing.ts"
import type { AgentHold } from "./agent-watch.ts"
import { grantAgents } from "./grant-agents.ts"
import {
  type ChildTurn,
  type ClusterSessionState,
  failedAttempt,
  lookedForPods,
  release,
  type RunningAgent,
  sessionChanged,
  type SessionState
} from "./session-state.ts"
import { type Placements, resolveTarget } from "./target-resolver.ts"

/** Pause before the target's pods are looked up again after an agent ended, in ms. */
const lookAgainAfter = 2_000

/** Pause before an agent is dialled again that refuses connections, in ms, and how often. */
const afterRefusal = 50
const refusalsBorne = 20

/** Most agents of one session that are being started at a time. */
const startedAtOnce = 8

type StartedAgent = Result.Result<RunningAgent, AgentFailed | AgentUnreachable | SessionFailure>

/** Why a session waits before it starts agents again. */
const failureAfter = ({ hold }: RunningAgent, cause: AgentEnd["cause"]): SessionFailure => {
  const health = hold.health()
  if (cause === "Ended" || health._tag !== "Lost")
    return { reason: "Error", message: "its agent ended right after its start; `kubectl logs` of its pod says why" }
  return {
    reason: "Error",
    message:
      health.why === silent
        ? "one agent after the other stopped answering; look at the node of its pod"
        : `one agent after the other was given up: ${health.why}`
  }
}

const failureOf = (representative: StartedAgent | undefined): SessionFailure => {
  if (representative === undefined || Result.isSuccess(representative))
    return { reason: "Error", message: "it is gone" }
  const { failure } = representative
  if (!("_tag" in failure)) return failure
  const isNotAllowed = failure._tag === "AgentFailed" && failure.isNotAllowed === true
  return { reason: isNotAllowed ? "NotAllowed" : "Error", message: failure.message }
}

/** Whether a task still works for the session that it was begun for. */
const isCurrent = ({ sessions }: ClusterSessionState, { key, known }: ChildTurn): boolean => sessions.get(key) === known

const failNow = (session: SessionState, failure: SessionFailure) =>
  Effect.map(Clock.currentTimeMillis, (at) => failedAttempt(session, failure, at))

/** `checkedAt` of a look after which the target's pods are looked up again in a moment. */
const soon = (now: number): number => now - refreshEvery + lookAgainAfter

/** Whether the agent belongs to the session as it is now. */
const isInUse = (state: ClusterSessionState, turn: ChildTurn, agent: RunningAgent): boolean =>
  isCurrent(state, turn) && turn.known.agent._tag === "Ready" && turn.known.agents.includes(agent)

/**
 * Handles the end of an agent, or that it was given up. Without the representative everything starts over: the target
 * may have another pod now.
 */
const agentEnded = (
  state: ClusterSessionState,
  turn: ChildTurn,
  agent: RunningAgent,
  cause: AgentEnd["cause"]
): void => {
  const { key: name, known: session } = turn
  if (!isInUse(state, turn, agent)) return
  const now = state.clock.currentTimeMillisUnsafe()
  const next = afterEnd({
    isRepresentative: session.agents[0] === agent,
    cause,
    servedFor: now - agent.startedAt,
    sinceGivenUp: session.givenUp === undefined ? undefined : now - session.givenUp.at
  })
  if (cause === "GivenUp") session.givenUp = { at: now, containerId: agent.placement?.containerId }
  agent.hold.close()
  session.agents = session.agents.filter((other) => other !== agent)
  switch (next) {
    case "LookSoon":
    case "LookLater":
      session.agent = { _tag: "Ready", checkedAt: next === "LookSoon" ? soon(now) : now }
      break
    case "StartOver":
      release(session)
      session.failures = 0
      session.target = { _tag: "Unresolved" }
      session.agent = { _tag: "None" }
      break
    case "Fail":
      release(session)
      session.agent = failedAttempt(session, failureAfter(agent, cause), now)
  }
  sessionChanged(state, name)
}

/** Handles that an agent does not answer, or answers again, or was given up. */
const agentChanged = (state: ClusterSessionState, turn: ChildTurn, agent: RunningAgent): void => {
  if (agent.hold.health()._tag === "Lost") agentEnded(state, turn, agent, "GivenUp")
  else if (isInUse(state, turn, agent)) sessionChanged(state, turn.key)
}

const followAgent = (state: ClusterSessionState, turn: ChildTurn, agent: RunningAgent): void =>
  agent.hold.follow({
    changed: () => agentChanged(state, turn, agent),
    ended: () => agentEnded(state, turn, agent, "Ended")
  })

const ownerOf = ({ key: name, view }: ChildTurn): OwnerReference => ({
  apiVersion: apiVersionOf(mirrordClusterSessions),
  kind: mirrordClusterSessions.kind,
  name,
  uid: view.metadata.uid ?? ""
})

/** The ports of the session's target that serve TLS, for its agent beside a container. */
const tlsOf = (
  { options }: ClusterSessionState,
  { view }: ChildTurn,
  placement: AgentPlacement | undefined
): Effect.Effect<ReadonlyArray<PortTls>, SessionFailure> => {
  const target = fromKubeTarget(view.spec.target)
  return placement === undefined || target === undefined
    ? Effect.succeed([])
    : options.stealTls({ namespace: view.spec.namespace, target, placement })
}

/**
 * Connects to an agent whose pod has just begun to run. Its port may be open only a moment later, and a pod is not made
 * ready by its port (agent.md §3.5), so a refusal is no news for a while.
 */
const connectYoung = (agents: ClusterSessionState["agents"], handle: AgentHandle) =>
  agents.connect(handle).pipe(
    Effect.retry({
      while: ({ isRefused = false }) => isRefused,
      times: refusalsBorne,
      schedule: Schedule.spaced(afterRefusal)
    })
  )

/** Starts one agent, connects to it, and waits for its first word. Each connection is added to `opened`. */
const startAgent = (
  state: ClusterSessionState,
  turn: ChildTurn,
  placement: AgentPlacement | undefined,
  opened: Set<AgentHold>
): Effect.Effect<StartedAgent> => {
  const { agents, watches } = state
  const owner = ownerOf(turn)
  const answering = Effect.gen(function* () {
    const tls = yield* tlsOf(state, turn, placement)
    const handle = yield* agents.ensure(placement, owner, tls)
    yield* traceEvent("agent ready")
    const hold = yield* Effect.map(connectYoung(agents, handle), (channel) => {
      const made = watches.hold(handle, channel)
      opened.add(made)
      return made
    })
    yield* traceEvent("agent connected")
    yield* Effect.tapError(hold.greet, () => Effect.sync(() => hold.close()))
    yield* traceEvent("agent answered")
    return { hold, handle }
  })
  return Effect.gen(function* () {
    // An agent that cannot be reached may have ended; the next try creates another agent in its place.
    const { handle, hold } = yield* retrying(answering, (error) => "_tag" in error && error._tag === "AgentUnreachable")
    return {
      hold,
      handle,
      pod: placement?.podName ?? handle.name,
      placement,
      startedAt: yield* Clock.currentTimeMillis
    }
  }).pipe(
    Effect.tapError((error) => logWarning("agent not started", { session: turn.key, problem: error.message })),
    traced({
      name: "agent start",
      within: turn.view.metadata.annotations?.[traceparentAnnotation],
      attributes: { "braid.session": turn.key, "k8s.pod.name": placement?.podName }
    }),
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
    const opened = new Set<AgentHold>()
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

/** From the end of a start on, the bounds count the agents that run. */
const startingEnds = ({ known }: ChildTurn) =>
  Effect.ensuring(
    Effect.sync(() => {
      known.starting = new Set()
    })
  )

/** Handles that a pod of the session's target can be used otherwise. */
const podChanged = (state: ClusterSessionState, { key, known: session }: ChildTurn): void => {
  session.podsChangedAt ??= state.clock.currentTimeMillisUnsafe()
  state.controller.enqueue(key)
}

/** The pods of the session's target, which are followed from now on, unless their namespace is protected. */
const findPlacements = (
  state: ClusterSessionState,
  turn: ChildTurn,
  api = state.options.api
): Effect.Effect<Placements, SessionFailure> =>
  Effect.suspend(() => {
    const { key, known, view } = turn
    const { namespace, target } = view.spec
    known.podsChangedAt = undefined
    const failure = protectedTarget(state.options.protectedNamespaces, namespace, (target ?? undefined) === undefined)
    if (failure !== undefined) return Effect.fail(failure)
    return resolveTarget(api, view, (selection) => {
      if (isCurrent(state, turn)) state.targetPods.follow(key, selection, () => podChanged(state, turn))
    })
  })

/** Starts every agent of the session. The representative must come up; the session goes on without the others. */
const startSession = (state: ClusterSessionState, turn: ChildTurn, placements: Placements): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { key: name, known: session } = turn
    const chosen = startingPlacements(placements, session.givenUp?.containerId)
    const wanted = chosen.length === 0 ? [undefined] : chosen
    const { failure, places } = grantAgents(state, turn, wanted)
    if (failure !== undefined) yield* logWarning("agents not started", { session: name, problem: failure.message })
    if (failure !== undefined && (places.length === 0 || places[0] !== wanted[0])) {
      session.agent = yield* failNow(session, failure)
      return sessionChanged(state, name)
    }
    const results = yield* startAll(state, turn, places)
    const [representative] = results
    const started = agentsOf(results)
    if (!isCurrent(state, turn) || representative === undefined || Result.isFailure(representative)) {
      closeHolds(started)
      session.agent = yield* failNow(session, failureOf(representative))
    } else {
      const now = yield* Clock.currentTimeMillis
      session.agents = started
      session.agent = { _tag: "Ready", checkedAt: chosen.length < placements.length ? soon(now) : now }
      if (session.givenUp !== undefined) session.givenUp = { ...session.givenUp, containerId: undefined }
      for (const agent of started) followAgent(state, turn, agent)
    }
    sessionChanged(state, name)
  }).pipe(
    startingEnds(turn),
    Effect.catchDefect(
      Effect.fnUntraced(function* (defect) {
        const { key: name, known: session } = turn
        yield* logError("agent not started", { session: name, defect: String(defect) })
        const message = "starting its agent failed; the operator's log says why"
        session.agent = yield* failNow(session, { reason: "Error", message })
        sessionChanged(state, name)
      })
    )
  )

/**
 * Starts the agents of a session. After a failure the target is looked up again: its pod may have been replaced, or may
 * be gone.
 */
export const startAgents = (state: ClusterSessionState, turn: ChildTurn, placements: Placements): Effect.Effect<void> =>
  turn.known.failures === 0
    ? startSession(state, turn, placements)
    : Effect.matchEffect(findPlacements(state, turn), {
        onSuccess: (found) => {
          lookedForPods(turn.known, { _tag: "Resolved", placement: found })
          return startSession(state, turn, found)
        },
        onFailure: (failure) =>
          Effect.map(failNow(turn.known, failure), (failed) => {
            lookedForPods(turn.known, failed)
            turn.known.agent = { _tag: "None" }
            sessionChanged(state, turn.key)
          })
      })

/** Asks the API server about the pod of an agent. */
const lookAtPod = (
  { options: { api } }: ClusterSessionState,
  placement: AgentPlacement
): Effect.Effect<AgentPodState> =>
  api.get(pods, placement.podName, placement.podNamespace).pipe(
    Effect.map((object): AgentPodState => {
      const pod = readResource(pods, object)
      return Result.isSuccess(pod) ? agentPodState(placement, pod.success) : "Unknown"
    }),
    Effect.catch((error) =>
      Effect.succeed<AgentPodState>(error.reason === "NotFound" ? agentPodState(placement, undefined) : "Unknown")
    )
  )

/** Looks at the pods of agents in which no agent could be started now: they may be gone. */
const lookAtPods = (state: ClusterSessionState, agents: ReadonlyArray<RunningAgent>): Effect.Effect<void> =>
  Effect.forEach(
    agents,
    ({ hold, placement }) =>
      placement === undefined ? Effect.void : Effect.map(lookAtPod(state, placement), (sign) => hold.lookedAtPod(sign)),
    { concurrency: startedAtOnce, discard: true }
  )

/** Starts agents next to pods, and adds each to the session as soon as it runs. */
const addAgents = (state: ClusterSessionState, turn: ChildTurn, placements: Placements): Effect.Effect<void> => {
  const { key: name, known: session } = turn
  const addOne = (placement: AgentPlacement): Effect.Effect<void> =>
    Effect.map(startAll(state, turn, [placement]), (results) => {
      const started = agentsOf(results)
      if (!isCurrent(state, turn) || session.agent._tag !== "Ready") return closeHolds(started)
      session.agents = [...session.agents, ...started]
      for (const agent of started) followAgent(state, turn, agent)
      if (started.length > 0) sessionChanged(state, name)
    })
  return Effect.forEach(placements, addOne, { concurrency: startedAtOnce, discard: true })
}

/** Why a pod may not join the session while its clients do what they do; `undefined` if it may. */
const forbiddenPod = ({ known }: ChildTurn, placement: AgentPlacement): Effect.Effect<string | undefined> =>
  Effect.forEach([...known.clients], ({ forbidden }) => forbidden(placement)).pipe(
    Effect.map((reasons) => reasons.find((reason) => reason !== undefined)),
    // It is asked again at the next look.
    Effect.catch(({ message }) => Effect.succeed(message))
  )

/**
 * The new pods of the target whose policies let the session be. The others get no agent, and log, Event and clients say
 * why, once.
 */
const allowedPods = Effect.fnUntraced(function* (
  state: ClusterSessionState,
  turn: ChildTurn,
  pods: Placements
): Effect.fn.Return<Placements> {
  const { key: name, known: session, view } = turn
  const before = session.leftOut
  const leftOut = new Map<string, string>()
  for (const placement of pods) {
    const { containerId, podName } = placement
    const why = yield* forbiddenPod(turn, placement)
    if (why === undefined) continue
    leftOut.set(containerId, why)
    if (before.get(containerId) === why) continue
    yield* logWarning("pod left out", { session: name, pod: podName, problem: why })
    state.options.events.record(mirrordClusterSessions, view, podLeftOutEvent(podName, why))
    for (const { warn } of session.clients) warn(`pod ${podName} is left out: ${why}`)
  }
  session.leftOut = leftOut
  return pods.filter(({ containerId }) => !leftOut.has(containerId))
})

/**
 * Starts agents next to new pods of the target, and gives up agents whose pods are gone. A failed look-up counts as no
 * new pods; the next refresh looks again.
 */
export const refreshAgents = (state: ClusterSessionState, turn: ChildTurn): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { known: session } = turn
    const resolved = yield* Effect.result(findPlacements(state, turn))
    const found = Result.getOrElse(resolved, (): Placements => [])
    const served = new Set(session.agents.map(({ placement }) => placement?.containerId))
    const usable = new Set(found.map(({ containerId }) => containerId))
    // The looks come first: an agent beside a dead pod may take all the time until the next refresh, and never start.
    yield* lookAtPods(
      state,
      session.agents.filter(({ placement }) => placement !== undefined && !usable.has(placement.containerId))
    )
    const missing = yield* allowedPods(
      state,
      turn,
      found.filter(({ containerId }) => !served.has(containerId))
    )
    const { places } = grantAgents(state, turn, missing)
    yield* addAgents(
      state,
      turn,
      places.filter((place) => place !== undefined)
    )
  }).pipe(
    startingEnds(turn),
    Effect.catchDefect((defect) => logError("agents not refreshed", { session: turn.key, defect: String(defect) }))
  )

/** Looks up the pods of the session's target. */
export const lookUpTarget = (state: ClusterSessionState, turn: ChildTurn): Effect.Effect<void> => {
  const { known } = turn
  return Effect.matchEffect(findPlacements(state, turn, state.retryingApi), {
    onSuccess: (placement) =>
      Effect.sync(() => {
        lookedForPods(known, { _tag: "Resolved", placement })
      }),
    onFailure: (failure) =>
      Effect.map(failNow(known, failure), (failed) => {
        lookedForPods(known, failed)
      })
  })
}
