import { Clock, Effect, FiberMap, Result, type Scope } from "effect"
import { childEvents } from "../../../domain/events/child-events.ts"
import { expiredEvent } from "../../../domain/events/deed-events.ts"
import type { SessionTimes } from "../../../domain/fleet/configuration.ts"
import {
  mirrordClusterSessions,
  type MirrordClusterSession
} from "../../../domain/resources/mirrord-cluster-session.ts"
import { isBeingDeleted, type OwnerReference, timestamp } from "../../../domain/resources/object-meta.ts"
import { apiVersionOf } from "../../../domain/resources/resource-descriptor.ts"
import {
  type AgentObservation,
  type ChildAction,
  childPlan,
  refreshEvery,
  type TargetObservation
} from "../../../domain/session/child-plan.ts"
import { heartbeat } from "../../../domain/session/heartbeat.ts"
import type { Requirement } from "../../../domain/session/requirement.ts"
import type { SessionFailure } from "../../../domain/session/session-failure.ts"
import { type AgentFailed, type AgentHandle, Agents, type AgentUnreachable } from "../../../ports/agents.ts"
import type { FrameChannel } from "../../../ports/frame-channel.ts"
import type { KubeApi, KubeError, KubeObject } from "../../../ports/kube-api.ts"
import { auditedChild } from "../../kernel/audit.ts"
import type { Changes } from "../../kernel/changes.ts"
import { type Controller, makeController, type Requeue } from "../../kernel/controller.ts"
import type { EventRecorder } from "../../kernel/event-recorder.ts"
import { isHeartbeatOnly } from "../../kernel/heartbeat-only.ts"
import { held } from "../../kernel/holdings.ts"
import { logError, logWarning } from "../../kernel/log.ts"
import { readCached } from "../../kernel/read-cached.ts"
import { makeReflector, type Reflector } from "../../kernel/reflector.ts"
import { patientApi, patiently } from "../../kernel/retrying-api.ts"
import { SessionClock } from "../session-clock.ts"
import type { SessionEnds } from "../session-ends.ts"
import type { SocketRegistry } from "../socket-registry.ts"
import { type Placements, resolveTarget } from "./target-resolver.ts"

/** Beside the task of a session's start. No session has a space in its name. */
const refreshOf = (name: string): string => `refresh ${name}`
/** An agent that ends sooner than so many ms after its start has failed; its successor is not started at once. */
const steadyAfter = 10_000

/** After an agent other than the representative ended, its target's pods are looked at in so many ms. */
const lookAgainAfter = 2_000

/** One agent of a session: `pod` names its member in the router, the first one is the representative. */
export interface SessionAgent {
  readonly pod: string
  readonly handle: AgentHandle
}

/** `hold` is an idle connection: an agent without any client exits (agent.md §3.4). */
interface RunningAgent extends SessionAgent {
  /** The container that it works on; nothing for a targetless one. */
  readonly containerId: string | undefined
  readonly hold: FrameChannel
  /** Epoch ms. */
  readonly startedAt: number
}

export interface ClusterSessionController extends Controller {
  readonly sessions: Reflector
  readonly session: (name: string) => MirrordClusterSession | undefined
  /** The agents of a session that is ready; the first serves what comes from one place only. */
  readonly agents: (name: string) => ReadonlyArray<SessionAgent>
}

export interface ClusterSessionOptions {
  readonly api: KubeApi
  readonly sockets: SocketRegistry
  readonly changes: Changes
  readonly ends: SessionEnds
  readonly events: EventRecorder
  readonly defaults: SessionTimes
  /** What other capabilities need before a session is ready. */
  readonly requirements: (session: MirrordClusterSession) => ReadonlyArray<Requirement>
}

/** What this process knows of one session beside its object. */
interface Local {
  /** As it was when this process began with it. */
  readonly session: MirrordClusterSession
  target: TargetObservation<Placements>
  agent: AgentObservation
  agents: ReadonlyArray<RunningAgent>
  failures: number
}

const fresh = (session: MirrordClusterSession): Local => ({
  session,
  target: { _tag: "Unresolved" },
  agent: { _tag: "None" },
  agents: [],
  failures: 0
})

/**
 * The ClusterSession controller of every workload cluster: resolves a session's target, starts agents next to it, says
 * when they are usable, and ends a session that nobody uses. Decided in `domain/session/child-plan.ts`.
 */
export const makeClusterSessionController = (
  options: ClusterSessionOptions
): Effect.Effect<ClusterSessionController, never, Agents | Scope.Scope> =>
  Effect.gen(function* () {
    const { api, changes, defaults, ends, events, sockets } = options
    const agents = yield* Agents
    const operatorSince = yield* Clock.currentTimeMillis
    const patient = patientApi(api)
    const times = new SessionClock(operatorSince)
    const locals = new Map<string, Local>()
    const tasks = yield* FiberMap.make<string>()
    const run = yield* FiberMap.runtime(tasks)<never>()

    const clock = yield* Clock.Clock
    yield* held("followed sessions", () => Math.max(times.size, locals.size))
    yield* held("connections that keep agents", () =>
      [...locals.values()].reduce((sum, local) => sum + local.agents.length, 0)
    )

    /** A session that was made anew under its name has other agents: theirs go with their owner. */
    const localOf = (name: string, session: MirrordClusterSession): Effect.Effect<Local> =>
      Effect.gen(function* () {
        const known = locals.get(name)
        if (known !== undefined && known.session.metadata.uid === session.metadata.uid) return known
        if (known !== undefined) yield* forget(name)
        const made = fresh(session)
        locals.set(name, made)
        return made
      })

    /** Who waits for a child knows it by its parent's name. */
    const changed = (name: string, object = sessions.get(name)): void => {
      enqueue(name)
      changes.notify(name)
      const parent = (object?.["spec"] as { readonly multiClusterParentName?: unknown } | undefined)
        ?.multiClusterParentName
      if (typeof parent === "string") changes.notify(parent)
    }

    const release = (local: Local): void => {
      for (const { hold } of local.agents) hold.close()
      local.agents = []
    }

    /** An agent ended. Without the representative everything starts over: its pod may be another one now. */
    const agentEnded = (name: string, local: Local, agent: RunningAgent): void => {
      if (locals.get(name) !== local || local.agent._tag !== "Ready" || !local.agents.includes(agent)) return
      const now = clock.currentTimeMillisUnsafe()
      const wasSteady = now - agent.startedAt >= steadyAfter
      if (local.agents[0] !== agent) {
        local.agents = local.agents.filter((one) => one !== agent)
        local.agent = { _tag: "Ready", checkedAt: wasSteady ? now - refreshEvery + lookAgainAfter : now }
        return changed(name)
      }
      release(local)
      if (wasSteady) {
        local.failures = 0
        local.target = { _tag: "Unresolved" }
        local.agent = { _tag: "None" }
      } else {
        local.failures++
        const failure: SessionFailure = {
          reason: "Error",
          message: "its agent ended right after its start; `kubectl logs` of its pod says why"
        }
        local.agent = { _tag: "Failed", at: now, failures: local.failures, failure }
      }
      changed(name)
    }

    const fail = (local: Local, failure: SessionFailure) =>
      Effect.map(
        Clock.currentTimeMillis,
        (at) => ({ _tag: "Failed", at, failures: ++local.failures, failure }) as const
      )

    const resolve = (name: string, session: MirrordClusterSession, local: Local): Effect.Effect<void> =>
      Effect.matchEffect(resolveTarget(patient, session), {
        onSuccess: (placement) =>
          Effect.sync(() => {
            local.target = { _tag: "Resolved", placement }
          }),
        onFailure: (failure) =>
          Effect.map(fail(local, failure), (failed) => {
            local.target = failed
          })
      })

    /**
     * Starts agents for a session, or says of each why not. What was started is closed again where this is interrupted.
     */
    const startAgents = (
      name: string,
      session: MirrordClusterSession,
      placements: ReadonlyArray<Placements[number] | undefined>
    ) =>
      Effect.suspend(() => {
        const owner: OwnerReference = {
          apiVersion: apiVersionOf(mirrordClusterSessions),
          kind: mirrordClusterSessions.kind,
          name,
          uid: session.metadata.uid ?? ""
        }
        const opened = new Set<FrameChannel>()
        const connected = (placement: Placements[number] | undefined) =>
          Effect.gen(function* () {
            const handle = yield* agents.ensure(placement, owner)
            const hold = yield* Effect.tap(agents.connect(handle), (channel) => Effect.sync(() => opened.add(channel)))
            return { hold, handle }
          })
        const startOne = (
          placement: Placements[number] | undefined
        ): Effect.Effect<Result.Result<RunningAgent, AgentFailed | AgentUnreachable>> =>
          Effect.gen(function* () {
            // One that cannot be reached may have ended, and another one is made in its place.
            const { handle, hold } = yield* patiently(
              connected(placement),
              (error) => error._tag === "AgentUnreachable"
            )
            return {
              hold,
              handle,
              pod: placement?.podName ?? handle.name,
              containerId: placement?.containerId,
              startedAt: yield* Clock.currentTimeMillis
            }
          }).pipe(
            Effect.tapError((error) => logWarning("agent not started", { session: name, problem: error.message })),
            Effect.result
          )
        const closeAll = Effect.sync(() => opened.forEach((hold) => hold.close()))
        return Effect.forEach(placements, startOne, { concurrency: 8 }).pipe(
          Effect.onInterrupt(() => closeAll),
          Effect.tapDefect(() => closeAll)
        )
      })

    const follow = (name: string, local: Local, agent: RunningAgent): void =>
      agent.hold.open({
        message: () => {},
        ended: () => agentEnded(name, local, agent),
        drained: () => {},
        ignored: () => {}
      })

    /** Starts every agent of the session. The representative one must come up; a session goes on without others. */
    const start = (
      name: string,
      session: MirrordClusterSession,
      local: Local,
      placements: Placements
    ): Effect.Effect<void> =>
      Effect.gen(function* () {
        const [first, ...others] = yield* startAgents(name, session, placements.length === 0 ? [undefined] : placements)
        const started = [first, ...others].flatMap((result) =>
          result !== undefined && Result.isSuccess(result) ? [result.success] : []
        )
        if (locals.get(name) !== local || first === undefined || Result.isFailure(first)) {
          for (const { hold } of started) hold.close()
          const message = first !== undefined && Result.isFailure(first) ? first.failure.message : "it is gone"
          local.agent = yield* fail(local, { reason: "Error", message })
        } else {
          local.agents = started
          local.agent = { _tag: "Ready", checkedAt: yield* Clock.currentTimeMillis }
          for (const agent of started) follow(name, local, agent)
        }
        changed(name)
      }).pipe(
        Effect.catchDefect((defect) =>
          Effect.gen(function* () {
            yield* logError("agent not started", { session: name, defect: String(defect) })
            local.agent = yield* fail(local, {
              reason: "Error",
              message: "starting its agent failed; the operator's log says why"
            })
            changed(name)
          })
        )
      )

    /** Starts agents next to pods that are new. What cannot be found out now is found out next time. */
    const refresh = (name: string, session: MirrordClusterSession, local: Local): Effect.Effect<void> =>
      Effect.gen(function* () {
        const found = Result.getOrElse(yield* Effect.result(resolveTarget(api, session)), (): Placements => [])
        const known = new Set(local.agents.map(({ containerId }) => containerId))
        const results = yield* startAgents(
          name,
          session,
          found.filter(({ containerId }) => !known.has(containerId))
        )
        const started = results.flatMap((result) => (Result.isSuccess(result) ? [result.success] : []))
        if (locals.get(name) !== local || local.agent._tag !== "Ready") {
          for (const { hold } of started) hold.close()
          return
        }
        local.agents = [...local.agents, ...started]
        for (const agent of started) follow(name, local, agent)
        if (started.length > 0) changed(name)
      }).pipe(
        Effect.catchDefect((defect) => logError("agents not refreshed", { session: name, defect: String(defect) }))
      )

    /** After a failure the target is looked up anew: its pod may be another one by now, or there may be none. */
    const startAgain = (
      name: string,
      session: MirrordClusterSession,
      local: Local,
      known: Placements
    ): Effect.Effect<void> =>
      local.failures === 0
        ? start(name, session, local, known)
        : Effect.matchEffect(resolveTarget(api, session), {
            onSuccess: (found) => start(name, session, local, found),
            onFailure: (failure) =>
              Effect.map(fail(local, failure), (failed) => {
                local.target = failed
                local.agent = { _tag: "None" }
                changed(name)
              })
          })

    const patch = (name: string, body: object): Effect.Effect<KubeObject, KubeError> =>
      api.mergePatch(mirrordClusterSessions, name, body, { subresource: "status" })

    const perform = (
      name: string,
      session: MirrordClusterSession,
      local: Local,
      action: ChildAction<Placements>
    ): Effect.Effect<unknown, KubeError> => {
      switch (action._tag) {
        case "ResolveTarget":
          return Effect.tap(resolve(name, session, local), () => Effect.sync(() => enqueue(name)))
        case "StartAgent":
          local.agent = { _tag: "Starting" }
          run(name, startAgain(name, session, local, action.placement))
          return Effect.void
        case "RefreshAgents":
          return Effect.map(Clock.currentTimeMillis, (checkedAt) => {
            local.agent = { _tag: "Ready", checkedAt }
            run(refreshOf(name), refresh(name, session, local))
            enqueue(name)
          })
        case "PatchStatus":
          return Effect.tap(patch(name, { metadata: action.precondition, status: action.patch }), (after) =>
            Effect.sync(() => {
              sessions.wrote(after)
              events.changed(mirrordClusterSessions, session, after, childEvents)
            })
          )
        case "DeleteChild":
          return ends
            .end(session.metadata, api.delete(mirrordClusterSessions, name, { uid: action.precondition.uid }), {
              act: "ended",
              cause: "Expired",
              ...auditedChild(name, session.spec),
              message: action.why
            })
            .pipe(
              Effect.map(() => events.record(mirrordClusterSessions, session, expiredEvent(action.why))),
              Effect.catch((error) => (error.reason === "NotFound" ? Effect.void : Effect.fail(error)))
            )
        case "RequeueAt":
          return Effect.void
      }
    }

    const forget = (name: string): Effect.Effect<void> =>
      Effect.suspend(() => {
        const local = locals.get(name)
        locals.delete(name)
        if (local !== undefined) release(local)
        times.forget(name)
        sockets.forget(name)
        // A primary's children end by its deletions; the primary has the line of their session.
        const isOwn = local !== undefined && (local.session.spec.multiClusterParentName ?? undefined) === undefined
        const told = isOwn ? ends.seen(local.session.metadata, auditedChild(name, local.session.spec)) : Effect.void
        return told.pipe(
          Effect.andThen(FiberMap.remove(tasks, refreshOf(name))),
          Effect.andThen(FiberMap.remove(tasks, name))
        )
      })

    const reconcile = (name: string): Effect.Effect<Requeue, KubeError> =>
      Effect.gen(function* () {
        const object = sessions.get(name)
        const read = object === undefined ? undefined : readCached(mirrordClusterSessions, object)
        if (read !== undefined && Result.isFailure(read)) {
          yield* logWarning("session ignored", { session: name, problem: read.failure.message })
          return undefined
        }
        let session = read?.success
        if (session === undefined || isBeingDeleted(session.metadata)) {
          yield* forget(name)
          return undefined
        }
        const local = yield* localOf(name, session)
        const now = yield* Clock.currentTimeMillis
        const beat = heartbeat(sockets.presence(name), times.lastWritten(name), now)
        if (beat.write) {
          times.wrote(name, now)
          // What follows is decided from the answer: any decision from the cache would conflict with this very write.
          const written = readCached(
            mirrordClusterSessions,
            yield* patch(name, {
              metadata: { uid: session.metadata.uid },
              status: { connectedTimestamp: timestamp(now) }
            })
          )
          if (Result.isFailure(written)) return undefined
          session = written.success
        }
        const actions = childPlan<Placements>(
          {
            child: session,
            createdSeenAt: times.seen(name).created,
            target: local.target,
            agent: local.agent,
            requirements: options.requirements(session),
            sockets: sockets.presence(name),
            heartbeatSeenAt: times.heartbeatSeen(name, session.status?.connectedTimestamp, now),
            operatorSince,
            defaults
          },
          now
        )
        for (const action of actions) {
          const result = yield* Effect.result(perform(name, session, local, action))
          if (Result.isSuccess(result)) continue
          if (result.failure.reason === "Conflict") {
            yield* sessions.reread(name)
            return "Conflict"
          }
          return yield* result.failure
        }
        const dueTimes = actions.flatMap((action) => (action._tag === "RequeueAt" ? [action.at] : []))
        const next = Math.min(...dueTimes, ...(beat.nextAt === undefined ? [] : [beat.nextAt]))
        return Number.isFinite(next) ? { after: Math.max(1, next - now) } : undefined
      })

    yield* Effect.addFinalizer(() => Effect.sync(() => locals.forEach(release)))
    const { enqueue } = yield* makeController({ name: "ClusterSession", reconcile })
    const sessions = yield* makeReflector(api, mirrordClusterSessions, (object, deleted, before) => {
      const now = clock.currentTimeMillisUnsafe()
      if (!deleted) times.saw(object, !sessions.synced(), now)
      if (deleted || !isHeartbeatOnly(before, object)) return changed(object.metadata.name, object)
      const { connectedTimestamp } = object["status"] as { readonly connectedTimestamp?: string | null }
      times.heartbeatSeen(object.metadata.name, connectedTimestamp, now)
    })
    return {
      enqueue,
      sessions,
      session: (name) => {
        const object = sessions.get(name)
        const read = object === undefined ? undefined : readCached(mirrordClusterSessions, object)
        return read !== undefined && Result.isSuccess(read) ? read.success : undefined
      },
      agents: (name) => locals.get(name)?.agents ?? []
    }
  })
