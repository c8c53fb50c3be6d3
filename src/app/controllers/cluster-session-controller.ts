import { Clock, Effect, FiberMap, Result, type Scope } from "effect"
import type { SessionTimes } from "../../domain/fleet/configuration.ts"
import { mirrordClusterSessions, type MirrordClusterSession } from "../../domain/resources/mirrord-cluster-session.ts"
import { type OwnerReference, timestamp } from "../../domain/resources/object-meta.ts"
import { apiVersionOf } from "../../domain/resources/resource-descriptor.ts"
import { type AgentObservation, type ChildAction, childPlan, type TargetObservation } from "../../domain/session/child-plan.ts"
import { heartbeat } from "../../domain/session/heartbeat.ts"
import type { SessionFailure } from "../../domain/session/session-failure.ts"
import { type AgentHandle, Agents } from "../../ports/agents.ts"
import type { FrameChannel } from "../../ports/frame-channel.ts"
import type { KubeApi, KubeError, KubeObject } from "../../ports/kube-api.ts"
import type { Changes } from "../sessions/changes.ts"
import type { SocketRegistry } from "../sessions/socket-registry.ts"
import { type Placements, resolveTarget } from "../sessions/target-resolver.ts"
import { type Controller, makeController, type Requeue } from "./controller.ts"
import { HeartbeatClock, isHeartbeatOnly } from "./heartbeat-clock.ts"
import { readCached } from "./read-cached.ts"
import { makeReflector, type Reflector } from "./reflector.ts"
import { logError, logInfo, logWarning } from "../log.ts"

const afterConflict = 100
/** An agent that ends sooner than so many ms after its start has failed; its successor is not started at once. */
const steadyAfter = 10_000

/** One agent of a session: `pod` names its member in the router, the first one is the representative. */
export interface SessionAgent {
  readonly pod: string
  readonly handle: AgentHandle
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
  readonly defaults: SessionTimes
}

/** What this process knows of one session beside its object. */
interface Local {
  readonly uid: string | undefined
  target: TargetObservation<Placements>
  agent: AgentObservation
  agents: ReadonlyArray<SessionAgent>
  /** One idle connection per agent: an agent without any client exits (agent-and-targets §3.5). */
  holds: ReadonlyArray<FrameChannel>
  /** Epoch ms. */
  readyAt: number
  failures: number
}

const fresh = (uid: string | undefined): Local => ({
  uid,
  target: { _tag: "Unresolved" },
  agent: { _tag: "None" },
  agents: [],
  holds: [],
  readyAt: 0,
  failures: 0
})

/**
 * The ClusterSession controller of every workload cluster: resolves a session's target, starts agents next to it, says when they
 * are usable, and ends a session that nobody uses. Decided in `domain/session/child-plan.ts`.
 */
export const makeClusterSessionController = (
  options: ClusterSessionOptions
): Effect.Effect<ClusterSessionController, never, Agents | Scope.Scope> =>
  Effect.gen(function* () {
    const { api, changes, defaults, sockets } = options
    const agents = yield* Agents
    const operatorSince = yield* Clock.currentTimeMillis
    const heartbeats = new HeartbeatClock()
    const locals = new Map<string, Local>()
    const tasks = yield* FiberMap.make<string>()
    const run = yield* FiberMap.runtime(tasks)<never>()

    const clock = yield* Clock.Clock

    /** A session that was made anew under its name has other agents: theirs go with their owner. */
    const localOf = (name: string, uid: string | undefined): Effect.Effect<Local> =>
      Effect.gen(function* () {
        const known = locals.get(name)
        if (known !== undefined && known.uid === uid) return known
        if (known !== undefined) yield* forget(name)
        const made = fresh(uid)
        locals.set(name, made)
        return made
      })

    /** Who waits for a child knows it by its parent's name. */
    const changed = (name: string, object = sessions.get(name)): void => {
      enqueue(name)
      changes.notify(name)
      const parent = (object?.["spec"] as { readonly multiClusterParentName?: unknown } | undefined)?.multiClusterParentName
      if (typeof parent === "string") changes.notify(parent)
    }

    const release = (local: Local): void => {
      for (const hold of local.holds) hold.close()
      local.holds = []
      local.agents = []
    }

    /** Starts over from resolving the target: an agent ended, its pod may be another one now. */
    const startOver = (name: string, local: Local): void => {
      if (locals.get(name) !== local || local.agent._tag !== "Ready") return
      release(local)
      const now = clock.currentTimeMillisUnsafe()
      if (now - local.readyAt < steadyAfter) {
        local.failures++
        const failure: SessionFailure = { reason: "Error", message: "its agent ended right after its start; `kubectl logs` of its pod says why" }
        local.agent = { _tag: "Failed", at: now, failures: local.failures, failure }
      } else {
        local.failures = 0
        local.target = { _tag: "Unresolved" }
        local.agent = { _tag: "None" }
      }
      changed(name)
    }

    const fail = (local: Local, failure: SessionFailure) =>
      Effect.map(Clock.currentTimeMillis, (at) => ({ _tag: "Failed", at, failures: ++local.failures, failure }) as const)

    const resolve = (name: string, session: MirrordClusterSession, local: Local): Effect.Effect<void> =>
      Effect.matchEffect(resolveTarget(api, session), {
        onSuccess: (placement) => Effect.sync(() => { local.target = { _tag: "Resolved", placement } }),
        onFailure: (failure) => Effect.map(fail(local, failure), (failed) => { local.target = failed })
      })

    /** Starts every agent of the session. The representative one must come up; a session goes on without others. */
    const start = (name: string, session: MirrordClusterSession, local: Local, placements: Placements): Effect.Effect<void> => {
      const owner: OwnerReference = {
        apiVersion: apiVersionOf(mirrordClusterSessions),
        kind: mirrordClusterSessions.kind,
        name,
        uid: session.metadata.uid ?? ""
      }
      const opened = new Set<FrameChannel>()
      const startOne = (placement: Placements[number] | undefined) =>
        Effect.gen(function* () {
          const handle = yield* agents.ensure(placement, owner)
          const hold = yield* Effect.tap(agents.connect(handle), (channel) => Effect.sync(() => opened.add(channel)))
          return { hold, agent: { pod: placement?.podName ?? handle.name, handle } }
        }).pipe(Effect.result)
      return Effect.gen(function* () {
        const wanted = placements.length === 0 ? [undefined] : placements
        const results = yield* Effect.forEach(wanted, startOne, { concurrency: 8 })
        const [first] = results
        const started = results.flatMap((result) => (Result.isSuccess(result) ? [result.success] : []))
        for (const result of results) {
          if (Result.isFailure(result)) yield* logWarning("agent not started", { session: name, problem: result.failure.message })
        }
        if (locals.get(name) !== local || first === undefined || Result.isFailure(first)) {
          for (const { hold } of started) hold.close()
          const message = first !== undefined && Result.isFailure(first) ? first.failure.message : "it is gone"
          local.agent = yield* fail(local, { reason: "Error", message })
        } else {
          local.readyAt = yield* Clock.currentTimeMillis
          local.agents = started.map(({ agent }) => agent)
          local.holds = started.map(({ hold }) => hold)
          local.agent = { _tag: "Ready" }
          for (const hold of local.holds) {
            hold.open({ message: () => {}, ended: () => startOver(name, local), drained: () => {}, ignored: () => {} })
          }
        }
        changed(name)
      }).pipe(
        Effect.onInterrupt(() => Effect.sync(() => opened.forEach((hold) => hold.close()))),
        Effect.catchDefect((defect) =>
          Effect.gen(function* () {
            for (const hold of opened) hold.close()
            yield* logError("agent not started", { session: name, defect: String(defect) })
            local.agent = yield* fail(local, { reason: "Error", message: "starting its agent failed; the operator's log says why" })
            changed(name)
          })
        )
      )
    }

    /** After a failure the target is looked up anew: its pod may be another one by now. */
    const startAgain = (name: string, session: MirrordClusterSession, local: Local, known: Placements): Effect.Effect<void> =>
      local.failures === 0
        ? start(name, session, local, known)
        : Effect.flatMap(Effect.result(resolveTarget(api, session)), (found) => start(name, session, local, Result.getOrElse(found, () => known)))

    const patch = (name: string, body: object): Effect.Effect<KubeObject, KubeError> =>
      api.mergePatch(mirrordClusterSessions, name, body, { subresource: "status" })

    const perform = (name: string, session: MirrordClusterSession, local: Local, action: ChildAction<Placements>): Effect.Effect<unknown, KubeError> => {
      switch (action._tag) {
        case "ResolveTarget":
          return Effect.tap(resolve(name, session, local), () => Effect.sync(() => enqueue(name)))
        case "StartAgent":
          local.agent = { _tag: "Starting" }
          run(name, startAgain(name, session, local, action.placement))
          return Effect.void
        case "PatchStatus":
          return patch(name, { metadata: action.precondition, status: action.patch })
        case "DeleteChild":
          return Effect.andThen(logInfo("session ends", { session: name, why: action.why }), () =>
            api.delete(mirrordClusterSessions, name, { uid: action.precondition.uid })
          ).pipe(Effect.catch((error) => (error.reason === "NotFound" ? Effect.void : Effect.fail(error))))
        case "RequeueAt":
          return Effect.void
      }
    }

    const forget = (name: string): Effect.Effect<void> =>
      Effect.suspend(() => {
        const local = locals.get(name)
        locals.delete(name)
        if (local !== undefined) release(local)
        heartbeats.forget(name)
        sockets.forget(name)
        return FiberMap.remove(tasks, name)
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
        if (session === undefined || (session.metadata.deletionTimestamp ?? undefined) !== undefined) {
          yield* forget(name)
          return undefined
        }
        const local = yield* localOf(name, session.metadata.uid)
        const now = yield* Clock.currentTimeMillis
        const beat = heartbeat(sockets.presence(name), heartbeats.lastWritten(name), now)
        if (beat.write) {
          heartbeats.wrote(name, now)
          // What follows is decided from the answer: any decision from the cache would conflict with this very write.
          const written = readCached(mirrordClusterSessions, yield* patch(name, { metadata: { uid: session.metadata.uid }, status: { connectedTimestamp: timestamp(now) } }))
          if (Result.isFailure(written)) return undefined
          session = written.success
        }
        const actions = childPlan<Placements>(
          {
            child: session,
            target: local.target,
            agent: local.agent,
            sockets: sockets.presence(name),
            heartbeatSeenAt: heartbeats.seen(name, session.status?.connectedTimestamp, now),
            operatorSince,
            defaults
          },
          now
        )
        for (const action of actions) {
          const result = yield* Effect.result(perform(name, session, local, action))
          if (Result.isSuccess(result)) continue
          if (result.failure.reason === "Conflict") return { after: afterConflict }
          return yield* result.failure
        }
        const times = actions.flatMap((action) => (action._tag === "RequeueAt" ? [action.at] : []))
        const next = Math.min(...times, ...(beat.nextAt === undefined ? [] : [beat.nextAt]))
        return Number.isFinite(next) ? { after: Math.max(1, next - now) } : undefined
      })

    yield* Effect.addFinalizer(() => Effect.sync(() => locals.forEach(release)))
    const { enqueue } = yield* makeController({ name: "ClusterSession", reconcile })
    const sessions = yield* makeReflector(api, mirrordClusterSessions, (object, deleted, before) => {
      if (deleted || !isHeartbeatOnly(before, object)) return changed(object.metadata.name, object)
      const { connectedTimestamp } = object["status"] as { readonly connectedTimestamp?: string | null }
      heartbeats.seen(object.metadata.name, connectedTimestamp, clock.currentTimeMillisUnsafe())
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
